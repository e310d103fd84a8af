"""Forms of question about classes: their hierarchy, their instances, what they exclude and ask."""

from __future__ import annotations

from rlm.llm.offline.frames import Form, Noun, list_of

_SUB = "(subclass|subclasses|sub-class|sub-classes|sub class|sub classes|subtype|subtypes|child"\
    "|children|child class|child classes|subkind|subkinds|specialisation|specialisations"\
    "|specialization|specializations)"  # fmt: skip
_SUPER = "(superclass|superclasses|super-class|super-classes|super class|super classes|supertype"\
    "|supertypes|parent|parents|parent class|parent classes|base class|base classes)"  # fmt: skip
_BELOW = "(descendant|descendants|descendant class|descendant classes|transitive subclasses"\
    "|transitive subclass|direct and indirect <sub>|direct or indirect <sub>)"  # fmt: skip
_ABOVE = "(ancestor|ancestors|ancestor class|ancestor classes|transitive superclasses"\
    "|direct and indirect <super>|direct or indirect <super>)"  # fmt: skip
_CLASSES = "[class|classes|term|terms]"
_KIND = "(kind|kinds|type|types|sort|sorts|form|forms|variety|varieties)"
_ALL = "(all|every|all of the|all known)"
_TOTAL = "(in total|in all|altogether|overall)"


def _count_deep(noun: str) -> tuple[str, ...]:
    """How many there are at any depth, which is what "in total" means of a hierarchy."""
    return (
        f"how many {noun} (does|do) {{class}} have (<deep>|{_TOTAL} [<deep>])",
        f"how many {noun} of {{class}} <there> (<deep>|{_TOTAL} [<deep>])",
        f"how many {noun} <there> of {{class}} (<deep>|{_TOTAL} [<deep>])",
        f"<count> {noun} of {{class}} <deep>",
        f"(what is|give me|tell me) the total (number|count) of {noun} of {{class}} [<deep>]",
    )


def _with(text: str) -> str:
    return text.replace("<sub>", _SUB).replace("<super>", _SUPER)


def _related(slot: str, relation: str, *, deep: bool = False) -> str:
    every = ", all=True" if deep else ""
    return f'fetch("related", ${slot}, relation="{relation}"{every})'


SUBCLASSES = list_of(
    "subclasses",
    Noun(f"[all] [the] <direct> {_SUB}|{_SUB}", "direct subclass", "direct subclasses"),
    _related("class", "subclasses"),
    "What are the subclasses of Vessel?",
    things=_CLASSES,
    every=False,
    listed=(
        f"<wh> {_KIND} of {{class}} <there>",
        f"<wh> {_CLASSES} (is|are) (directly|immediately) (below|under|beneath) {{class}}",
        f"<wh> {_CLASSES} (directly|immediately) (specialise|specialize|extend|refine) {{class}}",
        f"<wh> {_CLASSES} (has|have) {{class}} as [a|their|its|the] [direct|immediate] {_SUPER}",
        "what (falls|comes|is) directly (below|under|beneath) {class}",
        f"<list> [the] {_KIND} of {{class}}",
        f"[the] {_KIND} of {{class}}",
    ),
    counted=(f"how many {_KIND} of {{class}} <there>",),
)
ALL_SUBCLASSES = list_of(
    "all_subclasses",
    Noun(_with(f"[all|every] [the] {_BELOW}|{_ALL} [the] {_SUB}"), "subclass at any depth",
         "subclasses at any depth"),
    _related("class", "subclasses", deep=True),
    "List all subclasses of Vessel.",
    things=_CLASSES,
    tail="[<deep>]",
    listed=(
        f"<list> [the] {_SUB} of {{class}} <deep>",
        f"(what|which) (is|are) [the] {_SUB} of {{class}} <deep>",
        f"<wh> {_SUB} (does|do) {{class}} have <deep>",
        f"<wh> {_CLASSES} (is|are) {_SUB} of {{class}} <deep>",
        f"<wh> {_CLASSES} (is|are) <deep> [a] {_SUB} of {{class}}",
        f"<wh> {_CLASSES} (is|are) (below|under|beneath) {{class}} [<deep>]",
        "<list> (everything|all classes|all the classes) (below|under|beneath) {class} [<deep>]",
        f"<wh> {_CLASSES} (inherit|inherits|descend|descends|derive|derives) from {{class}}"
        f" [<deep>]",
        f"<list> {_ALL} {_KIND} of {{class}} [<deep>]",
        f"<wh> {_KIND} of {{class}} <there> <deep>",
    ),
    counted=(
        *_count_deep(_SUB),
        f"how many {_KIND} of {{class}} <there> {_TOTAL}",
        f"how many {_CLASSES} (are|is) (below|under|beneath) {{class}} [<deep>]",
        f"how many {_CLASSES} (inherit|descend|derive) from {{class}} [<deep>]",
    ),
)  # fmt: skip
SUPERCLASSES = list_of(
    "superclasses",
    Noun(f"[all] [the] <direct> {_SUPER}|{_SUPER}", "direct superclass", "direct superclasses"),
    _related("class", "superclasses"),
    "What is the superclass of Tug?",
    things=_CLASSES,
    every=False,
    listed=(
        f"<wh> {_CLASSES} is {{class}} (a|an|the) [direct|immediate] {_SUB} of",
        f"of <wh> {_CLASSES} is {{class}} (a|an|the) [direct|immediate] {_SUB}",
        "what is {class} a (kind|type|sort|form) of",
        f"<wh> {_CLASSES} (does|do) {{class}} directly (specialise|specialize|extend|inherit from)",
        f"<wh> {_CLASSES} (is|are) (directly|immediately) above {{class}}",
        f"<wh> {_CLASSES} (has|have) {{class}} as [a|their|its|the] [direct|immediate] {_SUB}",
    ),
)
ALL_SUPERCLASSES = list_of(
    "all_superclasses",
    Noun(_with(f"[all|every] [the] {_ABOVE}|{_ALL} [the] {_SUPER}"), "superclass at any depth",
         "superclasses at any depth"),
    _related("class", "superclasses", deep=True),
    "List all superclasses of Tug.",
    things=_CLASSES,
    tail="[<deep>]",
    listed=(
        f"<list> [the] {_SUPER} of {{class}} <deep>",
        f"(what|which) (is|are) [the] {_SUPER} of {{class}} <deep>",
        f"<wh> {_SUPER} (does|do) {{class}} have <deep>",
        f"<wh> {_CLASSES} (is|are) above {{class}} [<deep>]",
        f"<wh> {_CLASSES} (does|do) {{class}} (inherit|descend|derive) from [<deep>]",
        "<list> (everything|all classes|all the classes) above {class} [<deep>]",
        f"<wh> {_CLASSES} is {{class}} a {_SUB} of <deep>",
    ),
    counted=(
        *_count_deep(_SUPER),
        f"how many {_CLASSES} (are|is) above {{class}} [<deep>]",
    ),
)  # fmt: skip
_IS_A = "(kind|type|sort|form|descendant|specialisation|specialization)"
_BELOW_OF = f"(below|under|beneath|a (subclass|sub-class|subtype|{_IS_A}|child) of|subclass of)"
BELONGING = [
    Form(
        "is_subclass",
        "Is Tug a subclass of Vessel?",
        (
            f"(is|are) {{class}} {_BELOW_OF} {{class2}} [<deep>]",
            "(is|are) {class} [a|an] (subclasses|descendants|kinds|types|sorts) of {class2}",
            "does {class} (specialise|specialize|extend|inherit from|descend from|derive from)"
            " {class2}",
            f"is {{class2}} (above|a {_SUPER} of|an ancestor of|the {_SUPER} of) {{class}}",
            "is every {class} [also] (a|an) {class2}",
            "is {class2} among [all|the] [the] (superclasses|ancestors) of {class}",
            "is {class} among [all|the] [the] (subclasses|descendants) of {class2}",
        ),
        'tell_below(ontology_view("compare", $class, other=$class2))',
    ),
    Form(
        "is_direct_subclass",
        "Is Tug a direct subclass of ServiceVessel?",
        (
            "(is|are) {class} [a|an] <direct> (subclass|subtype|child) of {class2}",
            "is {class} (directly|immediately) (below|under) {class2}",
            f"is {{class2}} [a|an|the] <direct> {_SUPER} of {{class}}",
        ),
        'tell_member(%class, fetch("related", $class2, relation="subclasses"), "a direct'
        ' subclass")',
    ),
    Form(
        "is_instance",
        "Is GreyPetrel an instance of Tug?",
        (
            "is {individual} (an|one) [of the] (instance|instances|individual|example|member) of"
            " {class}",
            "does {individual} belong to [the class] {class}",
            "is {individual} of [the] (type|class) {class}",
        ),
        'tell_member(%individual, fetch("instances", $class), "an instance")',
    ),
    Form(
        "is_a",
        "Is GreyPetrel a Vessel?",
        ("is {term} (a|an|one of the) {class}", "are {term} {class}"),
        'tell_is_a(ontology_view("compare", $term, other=$class), %term, $class)',
    ),
    Form(
        "types",
        "What type is GreyPetrel?",
        (
            "(what|which) (is|are) [the] [rdf:type] [direct|stated] (type|types|class|classes) of"
            " {individual}",
            "<wh> (type|types|class|classes) (is|has|have) {individual}",
            "<wh> (type|types|class|classes) (does|do) {individual} (have|belong to)",
            "<wh> (class|classes|type|types) is {individual} (an instance|a member) of",
            "of <wh> (class|classes|type|types) is {individual} (an instance|a member)",
            "to <wh> (class|classes) does {individual} belong",
            "what is {individual} an instance of",
            "<wh> (kind|sort|type) of (thing|individual|entity|resource|term) is {individual}",
            "<list> [the] (types|type|classes|class) of {individual}",
        ),
        'tell_list(fetch("related", $individual, relation="types"), "type", "types")',
    ),
]
_INSTANCE = "(instance|instances|individual|individuals|member|members)"
INSTANCES = [
    *list_of(
        "instances",
        Noun(f"[known|named|all|all known] {_INSTANCE}", "instance", "instances"),
        'fetch("instances", $class)',
        "What are the instances of Tug?",
        things="[things|individuals|resources|terms|entities]",
        tail="[in total|in all|altogether|including (those|instances) of [its] subclasses"
        "|with those of [its] subclasses|at any depth|direct and indirect|direct or indirect]",
        listed=(
            "<wh> (things|individuals|resources|entities|instances) are [a|an] {class}",
            "<wh> (individuals|things|entities) (belong to|are in) [the class] {class}",
            "<wh> (individuals|things|entities) (are|have) (of|the) [the] type {class}",
            "<list> [all] [the] (individuals|things) of [the] (type|class) {class}",
        ),
        counted=("how many (individuals|things|resources) (are|belong to) [a|an] {class}",),
    ),
    *list_of(
        "direct_instances",
        Noun(f"[all] [the] <direct> {_INSTANCE}", "direct instance", "direct instances"),
        'fetch("instances", $class, all=False)',
        "What are the direct instances of Vessel?",
        things="[things|individuals|resources|terms|entities]",
    ),
    Form(
        "instances_by_name",
        "Which harbours are there?",
        ("<wh> {class} <there> <onto>", "<list> [all] [the] {class} <onto>",
         "(what|who|which) are [all] the {class} <onto>"),
        'tell_instances(fetch("instances", $class))',
    ),
    Form(
        "count_instances_by_name",
        "How many harbours are there?",
        ("how many {class} <there> <onto>", "<count> {class} <onto>",
         "how many {class} (does|do) <it> <have> <total>"),
        'tell_instances(fetch("instances", $class), counts=True)',
    ),
]  # fmt: skip
_EQUAL = "(equivalent|equivalents|equivalent class|equivalent classes)"
AXIOMS = [
    *list_of(
        "disjoint_classes",
        Noun("[stated] (disjoint class|disjoint classes|disjoints)", "class disjoint with it",
             "classes disjoint with it"),
        _related("class", "disjoint"),
        "Which classes are disjoint with Tug?",
        listed=(
            "(what|which) [other] [class|classes|things] (is|are) [stated|declared] [to be]"
            " disjoint (with|from|to) {class}",
            "(what|which|with which|with what) [other] [class|classes] (is|are) {class} [stated|"
            "declared] [to be] disjoint [with|from|to]",
            "from <wh> [class|classes] is {class} disjoint",
            "<list> [all] [the] classes [that are] disjoint (with|from|to) {class}",
            "(what|which) (class|classes) (has|have) {class} as [a] disjoint [class]",
        ),
        counted=("how many classes (are|is) disjoint (with|from|to) {class}",
                 "how many classes is {class} disjoint (with|from|to)"),
    ),
    Form(
        "are_disjoint",
        "Are Tug and Barge disjoint?",
        (
            "are [the classes] {class} and {class2} [stated|declared] [to be] [mutually|pairwise]"
            " disjoint [classes]",
            "(is|are) {class} [stated|declared] [to be] disjoint (with|from|to) {class2}",
            "(is|are) {class} and {class2} disjoint [from each other|with each other]",
        ),
        'tell_compared(ontology_view("compare", $class, other=$class2), "disjoint")',
    ),
    *list_of(
        "equivalents",
        Noun(_EQUAL, "equivalent class", "equivalent classes"),
        _related("class", "equivalents"),
        "What is equivalent to Tug?",
        things="[class|classes|things]",
        listed=(
            "(what|which) [other] [named] [class|classes] (is|are) [stated|declared] [to be]"
            " equivalent (to|with) {class}",
            "(what|which|to which|to what) [other] [class|classes] is {class} equivalent [to]",
            "<list> [all] [the] classes [that are] equivalent to {class}",
            "(what|which) is [the] same as {class}",
        ),
    ),
    Form(
        "are_equivalent",
        "Is Tug equivalent to Towboat?",
        ("(are|is) {class} and {class2} equivalent [classes]",
         "is {class} equivalent (to|with) {class2}", "are {class} and {class2} the same [class]",
         "is {class} an equivalent class of {class2}"),
        'tell_compared(ontology_view("compare", $class, other=$class2), "equivalent")',
    ),
    Form(
        "restrictions",
        "What restrictions does PortCall have?",
        (
            "<wh> [property] (restriction|restrictions|axioms|constraints|conditions|rules)"
            " (does|do) {class} have",
            "<wh> [property] (restriction|restrictions|constraints|conditions|rules) (apply"
            " to|applies"
            " to|hold for|are there on|are there for|are on|are (placed|stated|defined|put|made|"
            "declared|asserted|imposed|set) (on|for|of)) {class}",
            "(what|which) (are|is) [all] [the] [stated|owl|property|class]"
            " (restriction|restrictions|constraints) (of|on|for) {class}",
            "<list> [all] [the] [property|owl] (restriction|restrictions|constraints) (of|on|for|"
            "placed on|stated for) {class}",
            "what must (a|an|every|each) {class} have",
            "what does the class {class} require",
            "(what|which) are the necessary conditions (of|for) {class}",
            "(what|how) is {class} restricted [by|to]",
            "by <wh> restrictions is {class} (restricted|defined|constrained|bound)",
            "does {class} have any [property] restrictions",
            "[the] [property] restrictions (of|on|for) {class}",
        ),
        'tell_restrictions(fetch("restrictions", $class))',
    ),
    Form(
        "count_restrictions",
        "How many restrictions does PortCall have?",
        (
            "how many [property] restrictions (does|do) {class} have",
            "how many [property] restrictions (are there|are (placed|stated)) (on|for|of) {class}",
            "<count> [property] restrictions (of|on|for) {class}",
        ),
        'tell_count(fetch("restrictions", $class), "restriction", "restrictions")',
    ),
    Form(
        "inherited_restrictions",
        "Which restrictions does Tug have or inherit?",
        (
            "<wh> [property] restrictions does {class} have including inherited ones",
            "<list> [all] [the] restrictions (of|on|for) {class} including [the] inherited [ones]",
            "<wh> restrictions (does|do) {class} have or inherit",
        ),
        'tell_restrictions(fetch("restrictions", $class, inherited=True))',
    ),
    Form(
        "property_restrictions",
        "How does PortCall restrict the property usesBerth?",
        (
            "how does {class} restrict [the property] {property}",
            "<wh> restrictions (does|do) {class} (have|put|place) on [the property] {property}",
            "what is the restriction (of|on) [the property] {property} (of|in|for|by) {class}",
        ),
        'tell_restrictions(fetch("restrictions", $class), only=%property)',
    ),
]  # fmt: skip

FORMS = [
    *SUBCLASSES,
    *ALL_SUBCLASSES,
    *SUPERCLASSES,
    *ALL_SUPERCLASSES,
    *BELONGING,
    *INSTANCES,
    *AXIOMS,
]
