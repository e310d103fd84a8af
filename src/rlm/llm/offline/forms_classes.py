"""Forms of question about classes: their hierarchy, their instances, what they exclude and ask."""

from __future__ import annotations

from rlm.llm.offline.frames import Noun, form, hierarchy_of, list_of

_SUB = "(subclass|subtype|subkind|child [class]|specialisation|specialization)"
_SUPER = "(superclass|supertype|parent [class]|base class)"
_CLASSES = "[class|term|things|concepts]"
_KIND = "(kind|type|sort|form|variety)"
_EVERY = "(everything|anything|[all|every] class|all|[class] (hierarchy|tree))"
_SIT = "(is|sit|fall|come|lie|stand|go|goes|hang)"
_NEAR = "[(directly|immediately|right) {=direct}|somewhere {=deep}|{=deep}]"
"""What stands below is meant at any depth, unless the question says directly."""
_THAT = "[(that|which) [is|sit|fall|come|lie|stand|hang]]"
_BELOW = "(below|under|beneath|underneath)"
_INHERIT = "(inherit|descend|derive) from"
_EXTEND = "(specialise|specialize|extend|refine)"


def _related(slot: str, relation: str) -> str:
    return f'fetch("related", ${slot}, relation="{relation}")'


SUBCLASSES = hierarchy_of(
    "subclasses",
    Noun(f"{_SUB}|(descendant|[complete|full|whole|entire] subtree|offspring) [class] {{=deep}}",
         "subclass", "subclasses"),
    _related("class", "subclasses"), "Vessel", things=_CLASSES,
    listed=(
        f"<wh> [<direct> {{=direct}}] {_KIND} of {{class}} <there> <depth>",
        f"<head> {_KIND} of {{class}} <depth>",
        f"<list> (all|every) {_KIND} of {{class}} {{=deep}} [<deep>]",
        f"<wh> {_CLASSES} {_SIT} {_NEAR} {_BELOW} {{class}} <depth>",
        f"<head> {_EVERY} {_THAT} {_NEAR} {_BELOW} {{class}} <depth>",
        f"<wh> {_CLASSES} {_NEAR} ({_EXTEND}|{_INHERIT}) {{class}} <depth>",
        f"<wh> {_CLASSES} has {{class}} as [their|its] [direct|immediate] {_SUPER}",
        f"<wh> {_CLASSES} is (<deep>|<only>) {_SUB} of {{class}}",
        f"<wh> {{class}} (=classes|=types|{_SUB}) <there> <depth>",
        f"<head> [all {{=deep}}] {{class}} (=classes|=types|{_SUB}) <depth>"),
)  # fmt: skip
SUPERCLASSES = hierarchy_of(
    "superclasses",
    Noun(f"{_SUPER}|ancestor [class] {{=deep}}", "superclass", "superclasses"),
    _related("class", "superclasses"), "Tug", things=_CLASSES,
    listed=(
        f"<wh> {_CLASSES} is {{class}} (a|an|the) [direct|immediate] ({_SUB}|{_KIND}) of <depth>",
        f"<wh> {_KIND} of (thing|entity|resource|term|class) is {{class}}",
        f"<wh> {_CLASSES} (is|does) {{class}} {_NEAR} [sit|fall|placed] {_BELOW} <depth>",
        f"<wh> {_CLASSES} does {{class}} {_NEAR} ({_EXTEND}|{_INHERIT}) <depth>",
        f"<wh> {_CLASSES} {_SIT} {_NEAR} above {{class}} <depth>",
        f"<head> {_EVERY} {_THAT} {_NEAR} above {{class}} <depth>",
        f"<wh> {_CLASSES} has {{class}} as [their|its] [direct|immediate] {_SUB}"),
)  # fmt: skip
_BELOW_OF = f"({_BELOW}|({_SUB}|{_KIND}|descendant) of)"
BELONGING = [
    form("is_subclass: Is Tug a subclass of Vessel?", 'tell_below(ontology_view("compare",'
         ' $class, other=$class2))', f"is {{class}} {_BELOW_OF} {{class2}} [<deep>]",
         f"does {{class}} ({_EXTEND}|{_INHERIT}|subclass) {{class2}}",
         f"is {{class2}} (above|({_SUPER}|ancestor) of) {{class}}",
         "(is every|are all|is each) {class} [also] {class2}",
         f"is {{class2}} among [all] ({_SUPER}|ancestor) of {{class}}",
         f"is {{class}} among [all] ({_SUB}|descendant) of {{class2}}", marks=("", "deep")),
    form("is_direct_subclass: Is Tug a direct subclass of ServiceVessel?",
         'tell_member(%class, fetch("related", $class2, relation="subclasses"), "a direct'
         ' subclass")', "is {class} <direct> (subclass|subtype|child) of {class2}",
         "is {class} (directly|immediately) (below|under) {class2}",
         f"is {{class2}} <direct> {_SUPER} of {{class}}"),
    form("is_instance: Is GreyPetrel an instance of Tug?",
         'tell_member(%individual, fetch("instances", $class), "an instance")',
         "is {individual} [one of] (instance|individual|example|member) of {class}",
         "does {individual} belong to [the class] {class}",
         "is {individual} of (type|class) {class}"),
    form("is_a: Is GreyPetrel a Vessel?",
         'tell_is_a(ontology_view("compare", $term, other=$class), %term, $class)',
         "is {term} (a|an|one of the) {class}", "=are {term} {class}"),
    form("types: What type is GreyPetrel?", 'tell_list(fetch("related", $individual,'
         ' relation="types"), "type", "types")', "<head> [rdf:type] [direct|stated] (type|class)"
         " of {individual}", "<wh> (type|class) (is|does) {individual} [have]",
         "<wh> type has {individual}", "<wh> [class|type] is {individual} (instance|member) of",
         "<wh> class does {individual} belong to", "<wh> (kind|sort|type) of"
         " (thing|individual|entity|resource|term) is {individual}"),
]  # fmt: skip
_THINGS = "(things|individuals|resources|entities|instances)"
_INSTANCE = "(instance|individual|member)"
INSTANCES = [
    *list_of("instances", Noun(f"[known|named] {_INSTANCE}", "instance", "instances"),
        'fetch("instances", $class)', "What are the instances of Tug?", things=_THINGS,
        is_deep=True, marks=("", "deep"),
        listed=(f"<wh> {_THINGS} are {{class}}", f"<wh> {_THINGS} (belong to|are in) [the class]"
        f" {{class}}", f"<wh> {_THINGS} (are|have) [of] [the|rdf:type] [type] {{class}} [as"
        f" [their] type]", f"<head> [all] {_THINGS} that are [instances of] {{class}}",
        f"<wh> {_THINGS} [<there>] of [rdf:type] (type|class) {{class}} [<there>]",
        f"<head> [all] {_THINGS} of [rdf:type] (type|class) {{class}}",
        "<head> [all] instances of {class} (including|with) (those|instances) of subclasses")),
    *list_of("direct_instances", Noun(_INSTANCE, "direct instance", "direct instances"),
        'fetch("instances", $class, all=False)', "What are the direct instances of Vessel?",
        things=_THINGS, is_deep=True, marks=("direct",)),
    *(
        form(f"{said}_instances: Which harbours are {said.replace('_', ' ')}?",
             f'tell_list(keep_both(fetch("instances", $class, most=100000), fetch("terms",'
             f' kind="deprecated", most=100000), both={both}), "{said.replace("_", " ")} instance",'
             f' "{said.replace("_", " ")} instances")',
             f"(which|how many) [of the] {{class}} <onto> are {words}",
             f"(<list>|<count>|<wh> are) [all] {words} {{class}} <onto>",
             f"(how many|which) {words} {{class}} <there> <onto>")
        for said, both, words in (
            ("deprecated", True, "(deprecated|obsolete|no longer used|out of use)"),
            ("not_deprecated", False, "([still] (current|valid|in use)|not (deprecated|obsolete))"))
    ),
    form("instances_by_name: Which harbours are there?",
         'tell_instances(fetch("instances", $class))', "<wh> {class} <there> <onto>",
         "<wh> {class} does <it> <have>", "<list> [all] {class} <onto>",
         "(what|who) =are [all] the {class} <onto>"),
    form("count_instances_by_name: How many harbours are there?",
         'tell_instances(fetch("instances", $class), counts=True)',
         "how many {class} <there> <onto>", "<count> {class} <onto>",
         "how many {class} does <it> <have> <total>"),
]  # fmt: skip
_RULES = (
    "([stated|owl|property|class|necessary] (restriction|axiom|constraint|condition|rule)"
    "|(superclass|class) expression|(anonymous|unnamed) (superclass|parent))"
)
_SORTS = tuple(
    (sort, said, f"({words}) {_RULES}") for sort, said, words in (
        ("", "", "[any]"),
        ("some", "existential", "existential|somevaluesfrom|owl:somevaluesfrom|some"),
        ("only", "universal", "universal|allvaluesfrom|owl:allvaluesfrom|only"),
        ("min|max|exactly", "cardinality", "[qualified] cardinality|number"),
        ("value", "value", "value|hasvalue|owl:hasvalue"))
)  # fmt: skip
AXIOMS = [
    *list_of("disjoint_classes", Noun("[stated] (disjoint class|disjoints)",
        "class disjoint with it", "classes disjoint with it"), 'add_inherited(fetch("related",'
        ' $class, relation="disjoint"), fetch("related", $class, relation="disjoint", all=True))',
        "Which classes are disjoint with Tug?",
        listed=("<wh> [other] [class|things] is disjoint (with|from|to) {class}",
        "<wh> [other] [class] is {class} disjoint (with|from|to)",
        "<head> [all|every|any] [class] [that are] disjoint (with|from|to) {class}",
        "what class has {class} as disjoint [class]")),
    form("are_disjoint: Are Tug and Barge disjoint?",
         'tell_disjoint(ontology_view("compare", $class, other=$class2))',
         "are [the classes] {class} and {class2} [mutually|pairwise] disjoint [classes|(from|with)"
         " each other]", "is {class} disjoint (with|from|to) {class2}"),
    *list_of("equivalents", Noun("equivalent [class]", "equivalent class", "equivalent classes"),
        f"add_equivalents({_related('class', 'equivalents')})", "What is equivalent to Tug?",
        things="[class|things]",
        listed=("<wh> [other] [named] [class] is equivalent (to|with) {class}",
        "<wh> [other] [class] is {class} equivalent to",
        "<head> [all|any] [class] [that are] equivalent to {class}", "what is same as {class}",
        "<head> (logical|formal|owl|equivalence) definition (of|for) {class}",
        "<head> (equivalent class|equivalence|defining) (expression|axiom) (of|for) {class}",
        "<head> necessary and sufficient conditions (of|for) [being] {class}"),
        tell="tell_equivalents"),
    form("are_equivalent: Is Tug equivalent to Towboat?",
         'tell_equivalence(ontology_view("compare", $term, other=$term2))',
         "are {term} and {term2} equivalent [classes|properties]",
         "is {term} equivalent (to|with) {term2}", "are {term} and {term2} the same [class]",
         "is {term} an equivalent (class|property) of {term2}"),
    *(
        each for sort, said, noun in _SORTS for each in list_of(
            f"{said}_restrictions".strip("_"),
            Noun(noun, f"{said} restriction".strip(), f"{said} restrictions".strip()),
            f'keep_sort(fetch("restrictions", $class), "{sort}")',
            f"What {said} restrictions does PortCall have?".replace("  ", " "),
            listed=(f"<wh> {noun} must {{class}} <has>",
                    f"<wh> {noun} (apply to|hold for|is [there|placed|stated|defined|put|made|set]"
                    f" (on|for|of)) {{class}}", f"<head> [all] {noun} (placed on|for) {{class}}",
                    f"<wh> {noun} is {{class}} (restricted|defined|constrained|bound) by",
                    *("what must [every|each] {class} have", "what does the class {class} require",
                      "(what|how) is {class} restricted [by|to]") * (not said)),
            tell="tell_restrictions")
    ),
    form("inherited_restrictions: Which restrictions does Tug have or inherit?",
         'tell_restrictions(fetch("restrictions", $class, inherited=True))',
         f"<wh> {_RULES} does {{class}} ([have or] inherit|<has> including inherited [ones])",
         f"<head> [all] {_RULES} (of|on|for) {{class}} including inherited [ones]"),
    form("restrictions_by_word: Which numbers must a WaterCraft have?",
         'tell_by_word(fetch("restrictions", $class), {"rows": []}, $word)',
         "<wh> {word} must (a|an|every|each) {class} have"),
    form("property_restrictions: How does PortCall restrict the property usesBerth?",
         'tell_restrictions(fetch("restrictions", $class), only=%property)',
         "how does {class} restrict [the property] {property}",
         "<wh> restrictions does {class} (have|put|place) on [the property] {property}",
         "<head> restrictions on property {property} (of|in|for) {class}"),
]  # fmt: skip

FORMS = [*SUBCLASSES, *SUPERCLASSES, *BELONGING, *INSTANCES, *AXIOMS]
