"""Forms of question about properties: domains and ranges, hierarchy, inverses, traits, values."""

from __future__ import annotations

from rlm.llm.offline.frames import Form, Noun, form, hierarchy_of, list_of

_PROPS = "(property|relation|predicate|attribute)"
_SUB = "(subproperty|child [property])"
_SUPER = "(superproperty|parent [property])"
_AS = "as [their|its|one of its] [stated|direct]"
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
        listed = f'fetch("related", ${name}, relation="{relation}")'
        if word:
            listed = f'keep_both({listed}, fetch("terms", kind="{prefix[:-1]}"))'
        call = (
            f'keep_stated(sparql_query("SELECT DISTINCT ?x WHERE {{ ?x rdfs:{side}/(owl:unionOf'
            f'|owl:intersectionOf)/rdf:rest*/rdf:first <" + ${name} + "> }}", limit=1000),'
            f" {listed})"
        )
        call = f'add_included({call}, ${name}, "{side}")'
        named = f"(rdfs:{side}|{side})"
        wanted = (
            f"([that] (have|use|take)|with|having|using) {slot} ({_AS}|in (their|its|the)) {named}",
            f"([that] have|with|having) [stated] {named} [of|is|class] {slot}",
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
            form(f"{kind}: Which {example}", listed, f"(<wh>|<head> [all]) {props} {which}",
                 f"<wh> {props} is {slot} the {named} of", f"<head> {slot} 's {props}"),
            form(f"count_{kind}: How many {example}", counted,
                 f"(how many|<count>) {props} [are there] {which}"),
        ]  # fmt: skip
    return forms


BY_SIDE = [
    *_by_side("domain", "properties", (
        "[that] (can|may|does) SLOT have", "(can|may) (apply|be applied) to SLOT",
        "(of|for) [class] SLOT", "start (from|at) SLOT",
        "(apply to|describe|characterise|characterize|belong to|(can be|are) (used|defined|declared"
        "|stated|available|meant|allowed) (on|with|for|by|about)) [the class] SLOT")),
    *_by_side("range", "range_of", (
        "[that] (point|pointing|lead|leading|link|refer|referring) (to|at) SLOT",
        "[that] (range|ranging) over SLOT", "have values (of type|in) SLOT",
        "(take|have) SLOT as [their|its] value [range]")),
]  # fmt: skip
_BOTH_SIDES = "(domain and range|range and domain|domain/range|range/domain)"
_SIDE_OF = "<wh> [class|things|kind of things] (does|can|may) {property}"
SIDES = [
    form(f"{side}: What is the {side} of mooredAt?", f'tell_sides(fetch("related", $property,'
         f' relation="{side}"))', f"<head> [all] [stated] (rdfs:{side}|{side}) (of|for)"
         f" {{property}}", f"<wh> (class|{side}|datatype) is [in] {side} of {{property}}",
         f"<wh> {side} (does|has) {{property}} <has>", f"<head> {{property}} ['s] {side}",
         f"what [class|datatype] does {{property}} (have|take) as [its] {side}",
         f"(does|has) {{property}} [have] [any] [stated] {side} [stated|declared|defined]", * more)
    for side, more in (
        ("domain", (f"{_SIDE_OF} (apply to|be applied to|be used (on|with|for)|belong to|describe"
                    "|start (at|from))",
                    "<wh> (class|things) can have [the property] {property}")),
        ("range", ("<wh> [(kind|type|sort) of] value (does|can) {property} (take|have)",
                   f"{_SIDE_OF} (point|lead|refer|link|go) (to|at)",
                   "<wh> (datatype|data type|type) (does|has) {property} [have]")),
    )
] + [
    form("domain_and_range: What are the domain and range of mooredAt?",
         'tell_sides(fetch("related", $property, relation="domain"), fetch("related", $property,'
         ' relation="range"))', f"<head> [both] {_BOTH_SIDES} (of|for) {{property}}",
         f"<wh> {_BOTH_SIDES} (does|has) {{property}} <has>",
         f"<head> {{property}} ['s] {_BOTH_SIDES}", f"what does {{property}} (have|take) as"
         f" (its|the|their) {_BOTH_SIDES}", f"{_SIDE_OF}"
         f" (connect|relate|link|join|(run|hold|lead|go) between)",
         "from <wh> class to <wh> class does {property} (lead|go|run|point)"),
    *(
        form(f"{name}: Does mooredAt have the {side} {example}?",
             f'tell_side_member(%{slot}, fetch("related", $property, relation="{side}"))',
             f"(does|has) {{property}} [have] {side} [of] {{{slot}}}",
             f"is {{{slot}}} [in] {side} of {{property}}",
             f"is the {side} of {{property}} {{{slot}}}",
             f"does {{property}} have {{{slot}}} as [its] {side}")
        for name, side, slot, example in (
            ("has_side", "domain", "class", "Vessel"), ("has_range", "range", "range", "Berth"))
    ),
]  # fmt: skip


_HIERARCHY = (
    ("subproperties", f"{_SUB}|descendant {{=deep}}",
     ("<wh> [property] (specialise|specialize|refine) {property}",
      f"<wh> {_PROPS} (is|sit|fall|come) (below|under) {{property}} {{=deep}} <depth>")),
    ("superproperties", f"{_SUPER}|ancestor {{=deep}}",
     (f"<wh> {_PROPS} is {{property}} [direct] {_SUB} of <depth>",
      f"<wh> {_PROPS} (is|sit|stand|come) above {{property}} {{=deep}} <depth>")),
)  # fmt: skip
HIERARCHY = [
    *(
        each for many, noun, listed in _HIERARCHY for each in hierarchy_of(
            many, Noun(noun, many.replace("ies", "y"), many),
            f'fetch("related", $property, relation="{many}")', "mooredAt",
            things="[property|relations]", listed=listed)
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
         f"(<wh>|<head> [all]) [object] {_PROPS} ([that] (relate|connect|link|join|go|lead|point)"
         " [from] {class} (to|and|with) [another] {range}|((have|with) domain|whose domain is)"
         " {class} and (range|whose range is|range is|range of) {range})"),
]  # fmt: skip
_INVERSE = "[stated] (inverse|opposite|reverse) [property|relation|direction]|other direction"
INVERSES = [
    *list_of("inverses", Noun(_INVERSE, "inverse", "inverses"),
        'fetch("related", $property, relation="inverses")', "What is the inverse of mooredAt?",
        things="[property|relation]",
        listed=("<wh> [property|relation] is {property} inverse of",
        "<wh> [property|relation] is inverse (to|of) {property}")),
    form("are_inverse: Is mooredAt the inverse of hasMoored?",
         'tell_member(%property, fetch("related", $property2, relation="inverses"), "an inverse")',
         "is {property} inverse [property] (of|to) {property2}",
         "are {property} and {property2} inverse [properties] [(of|to) each other]"),
    *list_of("equivalent_properties", Noun("equivalent [property]", "equivalent property",
        "equivalent properties"), 'add_equivalents(fetch("related", $property,'
        ' relation="equivalents"))', "Which properties are equivalent to mooredAt?",
        listed=("what [other] [property] is equivalent to {property}",
        "what [other] [property] is {property} equivalent to")),
    *list_of("disjoint_properties", Noun("disjoint property", "property disjoint with it",
        "properties disjoint with it"), 'add_inherited(fetch("related", $property,'
        ' relation="disjoint"), fetch("related", $property, relation="disjoint", all=True))',
        "Which properties are disjoint with mooredAt?",
        listed=("what [other] [property] is disjoint (with|from) {property}",
        "what [other] [property] is {property} disjoint (with|from)")),
]  # fmt: skip
TRAITS = ("functional", "inverse functional", "transitive", "symmetric", "asymmetric", "reflexive",
          "irreflexive")  # fmt: skip


def _trait_forms() -> list[Form]:
    made = []
    for trait in TRAITS:
        said = f"({trait}|{trait.replace(' ', '-')}|{trait.replace(' ', '')})"
        program = f'tell_trait(describe_entity($property), "{trait}")'
        asked = f"is {{property}} {said} [<property>|object property|datatype property]"
        made.append(form(f"is_{trait.replace(' ', '_')}: Is mooredAt {trait}?", program, asked))
    made += [
        form("traits: What traits does mooredAt have?", "tell_traits(describe_entity($property))",
             "<wh> (trait|characteristic) does {property} have",
             "<head> [all] [property] (traits|characteristics) of {property}"),
        form("property_kind: What kind of property is mooredAt?",
             '%property + " is: " + describe_entity($property)["kind"] + "."',
             "<wh> (kind|type|sort) of (property|relation) is {property}", "is {property} (object"
             " [<property>] or datatype|datatype [<property>] or object) property"),
    ]  # fmt: skip
    return made


_BY_WORD = (
    "(what|who|when|where) is [all] {word} (of|for) {individual}",
    "<list> [all] {word} (of|for) {individual}",
    "{word} (of|for) {individual}",
    "what {word} (does|has|is) {individual} <has>",
    "<head> {individual} 's {word}",
)
VALUES = [
    form("value: What is the homePort of GreyPetrel?",
         'tell_values(fetch("values", $individual, property=$property))',
         "<head> [all] value (of|for) {property} (of|for|on|in) {individual}",
         "<head> [all] {property} value (of|for|on) {individual}",
         "what value does {individual} have for {property}",
         "what value does {property} have (for|on) {individual}", *(each.replace("{word}",
         "{property}") for each in _BY_WORD), "what does {individual} have (as|for) [its|their]"
         " {property}", "what is {individual} {property}", "what does {individual} {property}"),
    form("value_by_word", 'tell_by_word(fetch("values", $individual), fetch("restrictions",'
         ' $individual), $word)', * _BY_WORD),
    form("count_value: How many homePort values does GreyPetrel have?",
         'tell_values(fetch("values", $individual, property=$property))',
         "how many values does {individual} have for [the property] {property}",
         "how many {property} values does {individual} have",
         "how many values does [the property] {property} have (for|on) {individual}",
         "how many {property} does {individual} have"),
    form("values: What are the property values of GreyPetrel?",
         'tell_values(fetch("values", $individual))', "<head> [all] [property]"
         " (values|statements|facts|properties and values|assertions) (of|for|about|on)"
         " {individual}", "<wh> (properties|property values|values|facts|statements|attributes)"
         " does {individual} <has>", "<list> [all] properties of the individual {individual}",
         "what is (stated|said|known|recorded|asserted) (about|of) {individual}"),
    form("subjects: Which individuals have Silvermouth as their homePort?",
         'tell_list(from_query(sparql_query("SELECT DISTINCT ?x WHERE { ?x <" + $property + "> <" +'
         ' $individual + "> FILTER(isIRI(?x)) } ORDER BY ?x", limit=1000)), "thing that has it",'
         ' "things that have it")',
         "(which|who) [individual|thing|instances|resources|terms]"
         " has {individual} as [their|its] [value of|value for] {property}"),
]  # fmt: skip


def _linked(path: str, noun: str = "") -> str:
    """What a path of SKOS leads to. A collection may be in a scheme, and is no concept."""
    more = " FILTER NOT EXISTS { ?x a skos:Collection }" * (noun == "concept")
    query = f'"SELECT DISTINCT ?x WHERE {{ <" + $individual + "> ({path}) ?x{more} }} ORDER BY ?x"'
    return f"from_query(sparql_query({query}, limit=10000), %individual)"


_CONCEPTS = "(concept|term|member)"
_IN = (
    "skos:member|skos:memberList/rdf:rest*/rdf:first|^skos:inScheme|skos:hasTopConcept"
    "|^skos:topConceptOf"
)
SKOS = [
    *(
        each
        for name, noun, path in (
            ("narrower", "narrower|more specific|child", "skos:narrower|^skos:broader"),
            ("broader", "broader|more general|parent", "skos:broader|^skos:narrower"))
        for each in hierarchy_of(
            f"{name}_concepts",
            Noun(f"({noun}) {_CONCEPTS}", f"{name} concept", f"{name} concepts"), _linked(path),
            "Trawling", listed=(f"<wh> [{_CONCEPTS}] is ({noun}) than {{individual}} <depth>",
                                f"<head> [all] {_CONCEPTS} ({noun}) than {{individual}}"))
    ),
    *(
        each
        for name, noun, path, said in (
            ("related concept", f"related {_CONCEPTS}", "skos:related|^skos:related", "related to"),
            ("top concept", f"top [level] {_CONCEPTS}", "skos:hasTopConcept|^skos:topConceptOf",
             "at top of"),
            ("member", "(member|entry)", _IN, "in"), ("concept", "concept", _IN, "in"))
        for each in list_of(
            f"{name.replace(' ', '_')}s", Noun(noun, name, f"{name}s"), _linked(path, name), "",
            listed=(f"<wh> [{noun}|{_CONCEPTS * (said != 'in')}] (<there>|is) {said}"
                    " {individual}",))
    ),
]  # fmt: skip
FORMS = [*BY_SIDE, *SIDES, *HIERARCHY, *BETWEEN, *INVERSES, *_trait_forms(), *VALUES, *SKOS]
