"""Forms of question about properties: domains and ranges, hierarchy, inverses, traits, values."""

from __future__ import annotations

from rlm.llm.offline.frames import Form, Noun, form, hierarchy_of, list_of

_PROPS = "(property|properties|relation|relations|predicate|predicates|attribute|attributes)"
_SUB = (
    "(subproperty|subproperties|sub-property|sub-properties|sub property|sub properties|children)"
)
_SUPER = (
    "(superproperty|superproperties|super-property|super-properties|super property|super properties"
    "|parent property|parent properties|parent|parents)"
)
_AS = "as [a|the|their|its|one of its] [stated|direct]"
_SORTS = {
    "": ("", "property", "properties"),
    "object_": ("object", "object property", "object properties"),
    "datatype_": ("(datatype|data|data type)", "datatype property", "datatype properties"),
    "annotation_": ("annotation", "annotation property", "annotation properties"),
}


def _by_side(side: str, relation: str, verbs: tuple[str, ...]) -> list[Form]:
    """Properties by their domain or range, of any sort or of one."""
    forms = []
    slot = "{class}" if side == "domain" else "{range}"
    for prefix, (word, one, many) in _SORTS.items():
        props = f"{word} {_PROPS}"
        name = slot[1:-1]
        call = (
            f'keep_stated(sparql_query("SELECT DISTINCT ?x WHERE {{ ?x rdfs:{side}/(owl:unionOf'
            f'|owl:intersectionOf)/rdf:rest*/rdf:first <" + ${name} + "> }}", limit=1000),'
            f' fetch("related", ${name}, relation="{relation}"))'
        )
        call = f'add_included({call}, ${name}, "{side}")'
        call = f'keep_both({call}, fetch("terms", kind="{prefix[:-1]}"))' if word else call
        named = f"(rdfs:{side}|{side})"
        wanted = (
            f"([that] (have|use|take)|with|having|using) {slot} ({_AS}|in (their|its|the)) {named}",
            f"([that] have|with|having) [the|a] [stated] {named} [of|is|class] {slot}",
            f"whose [stated] {named} (is|includes|contains) [the class] {slot}",
            *verbs,
        )
        which = f"({'|'.join(wanted)})".replace("SLOT", slot)
        told = f'{call}, "{one} with the {side}", "{many} with the {side}"'
        by_domain = side == "domain" and not word
        listed = f"tell_by_domain({told})" if by_domain else f"tell_list({told})"
        counted = f"tell_by_domain({told}, counts=True)" if by_domain else f"tell_count({told})"
        kind, example = f"{prefix}properties_by_{side}", f"{many} have the {side} Vessel?"
        forms += [
            form(f"{kind}: Which {example}", listed, f"(<wh>|<head> [all] [the]) {props} {which}",
                 f"of <wh> {props} is {slot} the {named}"),
            form(f"count_{kind}: How many {example}", counted,
                 f"(how many|<count>) {props} [are there] {which}"),
        ]  # fmt: skip
    return forms


BY_SIDE = [
    *_by_side("domain", "properties", (
        "(can|may|does|do) [a|an|the] SLOT have", "(can|may) (apply|be applied) to SLOT",
        "(of|for) [the] [class] SLOT", "(start|starts) (from|at) SLOT",
        "(apply to|can be used (on|with|for)|are (defined|declared|stated) (for|on)) [the class]"
        " SLOT")),
    *_by_side("range", "range_of", (
        "[that] (point|points|pointing|lead|leads|leading|link|refer|referring) to [a|an] SLOT",
        "[that] (range|ranging) over SLOT", "(have|has) values (of type|in) SLOT",
        "(take|takes|have|has) [a|an] SLOT as [a|their|its] (value|values) [range]")),
]  # fmt: skip
_BOTH_SIDES = (
    "(domain and [the] range|range and [the] domain|domains and ranges|domain/range|range/domain)"
)
SIDES = [
    form(f"{side}: What is the {side} of mooredAt?",
         f'tell_sides(fetch("related", $property, relation="{side}"))',
         f"<head> [all] [the] [stated] (rdfs:{side}|{side}|{side}s) (of|for) {{property}}",
         f"<wh> (class|classes|{side}|{side}s|datatype) (is|are) [stated as] [in] [the]"
         f" ({side}|{side}s) of {{property}}",
         f"<wh> ({side}|{side}s) (does|do|has|have) {{property}} <has>",
         f"<head> {{property}} ['s] ({side}|{side}s)",
         f"what (does|do) {{property}} (have|take) as (its|the|a) {side}",
         f"(does|has) {{property}} [have] (a|any) [stated] {side} [stated|declared|defined]",
         *more)
    for side, more in (
        ("domain", ("to <wh> (class|classes|things) (does|can) {property} apply",
                    "what (does|can) {property} apply to",
                    "<wh> (class|classes|things) can have [the property] {property}")),
        ("range", ("<wh> (values|type of values|kind of values) (does|can) {property} (take|have)",
                   "<wh> (class|classes|things) (does|can) {property} (point|lead|refer) to",
                   "<wh> (datatype|data type|type) (does|has) {property} [have]")),
    )
] + [
    form("domain_and_range: What are the domain and range of mooredAt?",
         'tell_sides(fetch("related", $property, relation="domain"),'
         ' fetch("related", $property, relation="range"))',
         f"<head> [both] [the] {_BOTH_SIDES} (of|for) {{property}}",
         f"<wh> {_BOTH_SIDES} (does|do|has) {{property}} <has>",
         f"<head> {{property}} ['s] {_BOTH_SIDES}",
         f"what (does|do) {{property}} (have|take) as (its|the|their) {_BOTH_SIDES}",
         "<wh> [class|classes|things] does {property} (connect|relate|link|join)"),
    *(
        Form(
            name,
            f"Does mooredAt have the {side} {example}?",
            (
                f"(does|has) {{property}} [have] [the] {side} [of] {{{slot}}}",
                f"is {{{slot}}} [in|a|the] [the] {side} of {{property}}",
                f"is the {side} of {{property}} {{{slot}}}",
                f"does {{property}} have {{{slot}}} as [its|a] {side}",
            ),
            f'tell_side_member(%{slot}, fetch("related", $property, relation="{side}"))',
        )
        for name, side, slot, example in (
            ("has_side", "domain", "class", "Vessel"),
            ("has_range", "range", "range", "Berth"),
        )
    ),
]  # fmt: skip


_HIERARCHY = (
    (
        "subproperties",
        f"{_SUB}|descendants {{=deep}}",
        (
            "<wh> [property|properties] (specialise|specialize|refine) {property}",
            f"<wh> {_PROPS} (are|sit|fall|come) (below|under) {{property}} {{=deep}} <depth>",
        ),
    ),
    (
        "superproperties",
        f"{_SUPER}|ancestors {{=deep}}",
        (
            f"<wh> {_PROPS} is {{property}} a [direct] (subproperty|sub-property) of",
            f"of <wh> {_PROPS} is {{property}} a [direct] (subproperty|sub-property)",
            f"<wh> {_PROPS} (are|sit|stand|come) above {{property}} {{=deep}} <depth>",
        ),
    ),
)
HIERARCHY = [
    *(
        each for many, noun, listed in _HIERARCHY for each in hierarchy_of(
            many, Noun(noun, many.replace("ies", "y"), many),
            f'fetch("related", $property, relation="{many}")', "mooredAt",
            things="[property|properties|relations]", listed=listed)
    ),
    form("is_subproperty: Is mooredAt a subproperty of locatedAt?",
         'tell_below(ontology_view("compare", $property, other=$property2))',
         f"is {{property}} a {_SUB} of {{property2}}",
         f"is {{property2}} a {_SUPER} of {{property}}"),
]  # fmt: skip
BETWEEN = [
    form("properties_between: Which properties lead from Vessel to Berth?",
         'tell_between(keep_both(fetch("related", $class, relation="properties"), fetch("related",'
         ' $range, relation="range_of")), keep_both(fetch("related", $class, relation="properties",'
         ' all=True), fetch("related", $range, relation="range_of", all=True)), %class, %range)',
         f"(<wh>|<head> [all] [the]) {_PROPS} [that] (relate|relates|connect|connects|link|links"
         "|join|go|lead|point) [from] [a|an] {class} (to|and|with) [a|an|another] {range}",
         f"(<wh>|<head> [all] [the]) {_PROPS} ((have|with) [the] domain|whose domain"
         " is) {class} and (range|whose range is|[the] range is|[a] range of) {range}"),
]  # fmt: skip
_INVERSE = (
    "[stated] (inverse|inverses|opposite|opposites) [property|properties|relation|direction]"
    "|(reverse|other|opposite) direction|reverse [property|relation]"
)
_NAMED = "[property|properties|relation|relations]"
_MEMBER = "(what|which) [other] [property|properties]"
INVERSES = [
    *list_of(
        "inverses", Noun(_INVERSE, "inverse", "inverses"),
        'fetch("related", $property, relation="inverses")', "What is the inverse of mooredAt?",
        things=_NAMED,
        listed=(f"<wh> {_NAMED} is {{property}} [stated to be] [the|an] inverse of",
                f"<wh> {_NAMED} (is|are) [stated to be] inverse (to|of) {{property}}",
                "of <wh> property is {property} [the|an] inverse"),
    ),
    form("are_inverse: Is mooredAt the inverse of hasMoored?",
         'tell_member(%property, fetch("related", $property2, relation="inverses"), "an inverse")',
         "is {property} [the|an] inverse [property] (of|to) {property2}",
         "are {property} and {property2} [the] (inverse|inverses) [properties]"
         " [(of|to) each other]"),
    *list_of(
        "equivalent_properties",
        Noun("(equivalent|equivalents|equivalent property|equivalent properties)",
             "equivalent property", "equivalent properties"),
        'add_equivalents(fetch("related", $property, relation="equivalents"))',
        "Which properties are equivalent to mooredAt?",
        listed=(f"{_MEMBER} (is|are) equivalent to {{property}}",
                f"{_MEMBER} is {{property}} equivalent to"),
    ),
    *list_of(
        "disjoint_properties",
        Noun("(disjoint property|disjoint properties)", "property disjoint with it",
             "properties disjoint with it"),
        'add_inherited(fetch("related", $property, relation="disjoint"), fetch("related",'
        ' $property, relation="disjoint", all=True))',
        "Which properties are disjoint with mooredAt?",
        listed=(f"{_MEMBER} (is|are) disjoint (with|from) {{property}}",
                f"{_MEMBER} is {{property}} disjoint (with|from)"),
    ),
]  # fmt: skip
TRAITS = ("functional", "inverse functional", "transitive", "symmetric", "asymmetric", "reflexive",
          "irreflexive")  # fmt: skip


def _trait_forms() -> list[Form]:
    made = []
    for trait in TRAITS:
        said = (
            "(inverse functional|inverse-functional|inversefunctional)" if " " in trait else trait
        )
        made.append(
            form(
                f"is_{trait.replace(' ', '_')}: Is mooredAt {trait}?",
                f'tell_trait(describe_entity($property), "{trait}")',
                f"is [the] [property] {{property}} [declared|stated] [to be|as] [a|an] {said}"
                f" [<property>|object property|datatype property]",
            )
        )
    made += [
        form("traits: What traits does mooredAt have?", "tell_traits(describe_entity($property))",
             "<wh> (trait|traits|characteristic|characteristics) (does|do) {property} have",
             "<head> [all] [the] [property] (traits|characteristics) of {property}"),
        form("property_kind: What kind of property is mooredAt?",
             '%property + " is: " + describe_entity($property)["kind"] + "."',
             "<wh> (kind|type|sort) of (property|relation) is {property}",
             "is {property} an object property or a datatype property",
             "is {property} an object or [a] datatype property",
             "is {property} a datatype [property] or an object property"),
    ]  # fmt: skip
    return made


_BY_WORD = (
    "(what|who|which|when|where) (is|are|was|were) [all] [the] {word} (of|for) {individual}",
    "<list> [all] [the] {word} (of|for) {individual}",
    "[the] {word} (of|for) {individual}",
    "(what|which) {word} (does|do|has|have|is) {individual} <has>",
    "<head> {individual} 's {word}",
)
VALUES = [
    form("value: What is the homePort of GreyPetrel?",
         'tell_values(fetch("values", $individual, property=$property))',
         "<head> [all] [the] (value|values) (of|for) {property} (of|for|on|in) {individual}",
         "<head> [all] [the] {property} (value|values) (of|for|on) {individual}",
         "(what|which) (value|values) does {individual} have for {property}",
         "(what|which) (value|values) (does|do) {property} have (for|on) {individual}",
         *(each.replace("{word}", "{property}") for each in _BY_WORD),
         "what does {individual} have (as|for) [its|a|their] {property}",
         "what (is|are) {individual} {property}", "what does {individual} {property}"),
    form("value_by_word",
         'tell_by_word(fetch("values", $individual), fetch("restrictions", $individual), $word)',
         *_BY_WORD),
    form("count_value: How many homePort values does GreyPetrel have?",
         'tell_values(fetch("values", $individual, property=$property))',
         "how many values does {individual} have for [the property] {property}",
         "how many {property} values does {individual} have",
         "how many values (does|do) [the property] {property} have (for|on) {individual}",
         "how many {property} (does|do) {individual} have"),
    form("values: What are the property values of GreyPetrel?",
         'tell_values(fetch("values", $individual))',
         "<head> [all] [the] [property] (values|statements|facts|properties and values"
         "|assertions) (of|for|about|on) {individual}",
         "<wh> (properties|property values|values|facts|statements|attributes) (does|do)"
         " {individual} <has>", "<list> [all] [the] properties of the individual {individual}",
         "what is (stated|said|known|recorded|asserted) (about|of) {individual}"),
    form("subjects: Which individuals have Silvermouth as their homePort?",
         'tell_list(from_query(sparql_query("SELECT DISTINCT ?x WHERE { ?x <" + $property + "> <" +'
         ' $individual + "> FILTER(isIRI(?x)) } ORDER BY ?x", limit=1000)), "thing that has it",'
         ' "things that have it")',
         "(which|what|who) [individual|individuals|thing|things|instances|resources|terms]"
         " (has|have) {individual} as [a|the|their|its] [value of|value for] {property}"),
]  # fmt: skip

FORMS = [*BY_SIDE, *SIDES, *HIERARCHY, *BETWEEN, *INVERSES, *_trait_forms(), *VALUES]
