"""Forms of question about classes: their hierarchy, their instances, what they exclude and ask."""

from __future__ import annotations

from rlm.llm.offline.frames import Noun, form, hierarchy_of, list_of

_SUB = (
    "(subclass|subclasses|sub-class|sub-classes|sub class|sub classes|subtype|subtypes|child"
    "|children|child class|child classes|subkind|subkinds|specialisation|specialisations"
    "|specialization|specializations)"
)
_SUPER = (
    "(superclass|superclasses|super-class|super-classes|super class|super classes|supertype"
    "|supertypes|parent|parents|parent class|parent classes|base class|base classes)"
)
_CLASSES = "[class|classes|term|terms|things|concepts]"
_KIND = "(kind|kinds|type|types|sort|sorts|form|forms|variety|varieties)"
_EVERY = (
    "(everything|all classes|all the classes|every class|all|anything|[the] classes|[the] [class]"
    " (hierarchy|tree))"
)
_SIT = "(is|are|sit|sits|fall|falls|come|comes|lie|lies|stand|stands|go|goes|hang)"
_NEAR = "[(directly|immediately|right) {=direct}|somewhere {=deep}|{=deep}]"
"""What stands below is meant at any depth, unless the question says directly."""
_THAT = "[(that|which) [is|are|sit|sits|fall|falls|come|comes|lie|lies|stand|stands|hang|hangs]]"
_BELOW = "(below|under|beneath|underneath)"
_INHERIT = "(inherit|inherits|descend|descends|derive|derives) from"
_EXTEND = "(specialise|specialize|specialises|specializes|extend|extends|refine|refines)"


def _related(slot: str, relation: str) -> str:
    return f'fetch("related", ${slot}, relation="{relation}")'


SUBCLASSES = hierarchy_of(
    "subclasses",
    Noun(f"{_SUB}|(descendant|descendants|[complete|full|whole|entire] subtree|offspring)"
         " [class|classes] {=deep}", "subclass", "subclasses"),
    _related("class", "subclasses"), "Vessel", things=_CLASSES,
    listed=(
        f"<wh> [different|<direct> {{=direct}}] {_KIND} of {{class}} <there> <depth>",
        f"<head> [the] {_KIND} of {{class}} <depth>",
        f"<list> (all|every) {_KIND} of {{class}} {{=deep}} [<deep>]",
        f"<wh> {_CLASSES} {_SIT} {_NEAR} {_BELOW} {{class}} <depth>",
        f"<head> {_EVERY} {_THAT} {_NEAR} {_BELOW} {{class}} <depth>",
        f"<wh> {_CLASSES} {_NEAR} ({_EXTEND}|{_INHERIT}) {{class}} <depth>",
        f"<wh> {_CLASSES} (has|have) {{class}} as [a|their|its|the] [direct|immediate] {_SUPER}",
        f"<wh> {_CLASSES} (is|are) (<deep>|<only>) [a] {_SUB} of {{class}}",
        f"<wh> {{class}} (classes|types|{_SUB}) <there> <depth>",
        f"<head> [all {{=deep}}] [the] {{class}} (classes|types|{_SUB}) <depth>"),
)  # fmt: skip
SUPERCLASSES = hierarchy_of(
    "superclasses",
    Noun(f"{_SUPER}|(ancestor|ancestors) [class|classes] {{=deep}}", "superclass", "superclasses"),
    _related("class", "superclasses"), "Tug", things=_CLASSES,
    listed=(
        f"<wh> {_CLASSES} is {{class}} (a|an|the) [direct|immediate] {_SUB} of <depth>",
        f"of <wh> {_CLASSES} is {{class}} (a|an|the) [direct|immediate] {_SUB} <depth>",
        "what [kind|type|sort] [of thing] is {class} a (kind|type|sort|form) of",
        f"<wh> {_CLASSES} is {{class}} {_NEAR} {_BELOW} <depth>",
        f"(under|below) <wh> {_CLASSES} (is|does) {{class}} {_NEAR} [sit|fall|placed] <depth>",
        f"<wh> {_CLASSES} (does|do) {{class}} {_NEAR} ({_EXTEND}|{_INHERIT}) <depth>",
        f"<wh> {_CLASSES} {_SIT} {_NEAR} above {{class}} <depth>",
        f"<head> {_EVERY} {_THAT} {_NEAR} above {{class}} <depth>",
        f"<wh> {_CLASSES} (has|have) {{class}} as [a|their|its|the] [direct|immediate] {_SUB}"),
)  # fmt: skip
_IS_A = "(kind|type|sort|form|descendant|specialisation|specialization)"
_BELOW_OF = f"(below|under|beneath|a (subclass|sub-class|subtype|{_IS_A}|child) of|subclass of)"
BELONGING = [
    form("is_subclass: Is Tug a subclass of Vessel?",
         'tell_below(ontology_view("compare", $class, other=$class2))',
         f"(is|are) {{class}} {_BELOW_OF} {{class2}} [<deep>]",
         "(is|are) {class} [a|an] (subclasses|descendants|kinds|types|sorts) of {class2}",
         f"does {{class}} ({_EXTEND}|{_INHERIT}|subclass) {{class2}}",
         f"is {{class2}} (above|a {_SUPER} of|an ancestor of|the {_SUPER} of) {{class}}",
         "(is every|are all|is each) {class} [also] [a|an] {class2}",
         "is {class2} among [all|the] [the] (superclasses|ancestors) of {class}",
         "is {class} among [all|the] [the] (subclasses|descendants) of {class2}",
         marks=("", "deep")),
    form("is_direct_subclass: Is Tug a direct subclass of ServiceVessel?",
         'tell_member(%class, fetch("related", $class2, relation="subclasses"), "a direct'
         ' subclass")', "(is|are) {class} [a|an] <direct> (subclass|subtype|child) of {class2}",
         "is {class} (directly|immediately) (below|under) {class2}",
         f"is {{class2}} [a|an|the] <direct> {_SUPER} of {{class}}"),
    form("is_instance: Is GreyPetrel an instance of Tug?",
         'tell_member(%individual, fetch("instances", $class), "an instance")',
         "is {individual} (an|one) [of the] (instance|instances|individual|example|member) of"
         " {class}", "does {individual} belong to [the class] {class}",
         "is {individual} of [the] (type|class) {class}"),
    form("is_a: Is GreyPetrel a Vessel?",
         'tell_is_a(ontology_view("compare", $term, other=$class), %term, $class)',
         "is {term} (a|an|one of the) {class}", "are {term} {class}"),
    form("types: What type is GreyPetrel?",
         'tell_list(fetch("related", $individual, relation="types"), "type", "types")',
         "<head> [the] [rdf:type] [direct|stated] (type|types|class|classes) of {individual}",
         "<wh> (type|types|class|classes) (is|does|do) {individual} [have]",
         "<wh> (type|types) (has|have) {individual}",
         "[of] <wh> (class|classes|type|types) is {individual} (an instance|a member) [of]",
         "[to] <wh> (class|classes) does {individual} belong [to]",
         "what is {individual} an instance of",
         "<wh> (kind|sort|type) of (thing|individual|entity|resource|term) is {individual}"),
]  # fmt: skip
_THINGS = "(things|individuals|individual|resources|entities|instances)"
_INSTANCE = "(instance|instances|individual|individuals|member|members)"
INSTANCES = [
    *list_of(
        "instances", Noun(f"[known|named] {_INSTANCE}", "instance", "instances"),
        'fetch("instances", $class)', "What are the instances of Tug?",
        things=_THINGS, is_deep=True, marks=("", "deep"),
        listed=(
            f"<wh> {_THINGS} are [a|an] {{class}}",
            f"<wh> {_THINGS} (belong to|are in) [the class] {{class}}",
            f"<wh> {_THINGS} (are|have) [of] [the|rdf:type] [type] {{class}} [as [their] type]",
            f"<head> [all] [the] {_THINGS} that are [instances of] {{class}}",
            f"<head> [all] [the] {_THINGS} [that are] of [the] [rdf:type] (type|class) {{class}}",
            f"<wh> {_THINGS} [<there>] of [the] [rdf:type] (type|class) {{class}} [<there>]",
            "<head> [all] [the] instances of {class} (including|with) (those|instances) of [its]"
            " subclasses"),
    ),
    *list_of(
        "direct_instances", Noun(_INSTANCE, "direct instance", "direct instances"),
        'fetch("instances", $class, all=False)', "What are the direct instances of Vessel?",
        things=_THINGS, is_deep=True, marks=("direct",),
    ),
    form("instances_by_name: Which harbours are there?",
         'tell_instances(fetch("instances", $class))', "<wh> {class} <there> <onto>",
         "<list> [all] [the] {class} <onto>", "(what|who|which) are [all] the {class} <onto>"),
    form("count_instances_by_name: How many harbours are there?",
         'tell_instances(fetch("instances", $class), counts=True)',
         "how many {class} <there> <onto>", "<count> {class} <onto>",
         "how many {class} (does|do) <it> <have> <total>"),
]  # fmt: skip
_RULES = (
    "([stated|owl|property|class|necessary] (restriction|restrictions|axioms|constraint|constraints"
    "|conditions|rules)|(superclass|class) expressions|(anonymous|unnamed) (superclasses|parents))"
)
_SORTS = (
    ("some", "existential", "somevaluesfrom|owl:somevaluesfrom|some"),
    ("only", "universal", "allvaluesfrom|owl:allvaluesfrom|only"),
    ("min|max|exactly", "cardinality", "number|qualified cardinality"),
    ("value", "value", "hasvalue|owl:hasvalue"),
)
_EQUAL = "(equivalent|equivalents|equivalent class|equivalent classes)"
AXIOMS = [
    *list_of(
        "disjoint_classes",
        Noun("[stated] (disjoint class|disjoint classes|disjoints)", "class disjoint with it",
             "classes disjoint with it"),
        'add_inherited(fetch("related", $class, relation="disjoint"), fetch("related", $class,'
        ' relation="disjoint", all=True))',
        "Which classes are disjoint with Tug?",
        listed=(
            "<wh> [other] [class|classes|things] (is|are) [stated|declared] [to be] disjoint"
            " (with|from|to) {class}",
            "[with|from] <wh> [other] [class|classes] (is|are) {class} [stated|declared] [to be]"
            " disjoint [with|from|to]",
            "<head> [all|every|any] [the] [class|classes] [that are] disjoint (with|from|to)"
            " {class}",
            "(what|which) (class|classes) (has|have) {class} as [a] disjoint [class]"),
    ),
    form("are_disjoint: Are Tug and Barge disjoint?",
         'tell_disjoint(ontology_view("compare", $class, other=$class2))',
         "are [the classes] {class} and {class2} [stated|declared] [to be] [mutually|pairwise]"
         " disjoint [classes]",
         "(is|are) {class} [stated|declared] [to be] disjoint (with|from|to) {class2}",
         "(is|are) {class} and {class2} disjoint [from each other|with each other]"),
    *list_of(
        "equivalents",
        Noun(_EQUAL, "equivalent class", "equivalent classes"),
        f"add_equivalents({_related('class', 'equivalents')})",
        "What is equivalent to Tug?",
        things="[class|classes|things]",
        listed=(
            "<wh> [other] [named] [class|classes] (is|are) [stated|declared] [to be] equivalent"
            " (to|with) {class}",
            "[to] <wh> [other] [class|classes] is {class} [stated to be] equivalent [to]",
            "<head> [all|any] [the] [class|classes] [that are] equivalent to {class}",
            "(what|which) is [the] same as {class}",
            "<head> [the] (logical|formal|owl|equivalence) definition (of|for) {class}",
            "<head> [the] (equivalent class|equivalence|defining) (expression|expressions|axiom"
            "|axioms) (of|for) {class}",
            "<head> [the] necessary and sufficient conditions (of|for) [being] {class}"),
        tell="tell_equivalents",
    ),
    form("are_equivalent: Is Tug equivalent to Towboat?",
         'tell_equivalence(ontology_view("compare", $term, other=$term2))',
         "(are|is) {term} and {term2} equivalent [classes|properties]",
         "is {term} equivalent (to|with) {term2}", "are {term} and {term2} the same [class]",
         "is {term} an equivalent (class|property) of {term2}"),
    form("restrictions: What restrictions does PortCall have?",
         'tell_restrictions(fetch("restrictions", $class))',
         f"<wh> {_RULES} (does|do|has|have) {{class}} <has>",
         f"<wh> {_RULES} (apply to|applies to|hold for|are (there|placed|stated|defined|put|made"
         "|declared|asserted|imposed|set) (on|for|of)|are on) {class}",
         f"<head> [all] [the|any] {_RULES} (of|on|for|placed on|stated for) {{class}}",
         f"<head> {{class}} ['s] {_RULES}", "what must [a|an|every|each] {class} have",
         "what does the class {class} require", "(what|how) is {class} restricted [by|to]",
         f"by <wh> {_RULES} is {{class}} (restricted|defined|constrained|bound)",
         f"(does|do|has) {{class}} <has> any {_RULES}",
         f"[are there] any {_RULES} (of|on|for) {{class}}"),
    form("count_restrictions: How many restrictions does PortCall have?",
         'tell_count(fetch("restrictions", $class), "restriction", "restrictions")',
         f"how many {_RULES} (does|do) {{class}} <has>",
         f"how many {_RULES} (are there|are (placed|stated)) (on|for|of) {{class}}",
         f"<count> {_RULES} (of|on|for) {{class}}"),
    form("inherited_restrictions: Which restrictions does Tug have or inherit?",
         'tell_restrictions(fetch("restrictions", $class, inherited=True))',
         f"<wh> {_RULES} (does|do) {{class}} (have or inherit|<has> including [the] inherited"
         " [ones])",
         f"<head> [all] [the] {_RULES} (of|on|for) {{class}} including [the] inherited [ones]"),
    *(
        form(f"{said}_restrictions: What {said} restrictions does PortCall have?",
             f'tell_restrictions(fetch("restrictions", $class), sort="{sort}")',
             f"<wh> ({said}|{other}) {_RULES} (does|do|has|have) {{class}} <has>",
             f"<head> [all] [the|any] ({said}|{other}) {_RULES} (of|on|for) {{class}}",
             f"<wh> ({said}|{other}) {_RULES} <there> (of|on|for) {{class}}")
        for sort, said, other in _SORTS
    ),
    form("restrictions_by_word: Which numbers must a WaterCraft have?",
         'tell_by_word(fetch("restrictions", $class), {"rows": []}, $word)',
         "<wh> {word} must (a|an|every|each) {class} have"),
    form("property_restrictions: How does PortCall restrict the property usesBerth?",
         'tell_restrictions(fetch("restrictions", $class), only=%property)',
         "how does {class} restrict [the property] {property}",
         "<wh> restrictions (does|do) {class} (have|put|place) on [the property] {property}",
         "<head> [the] restrictions on [the] property {property} (of|in|for) {class}"),
]  # fmt: skip

FORMS = [*SUBCLASSES, *SUPERCLASSES, *BELONGING, *INSTANCES, *AXIOMS]
