"""Forms of question about one term or two: what it is, what it is called, how two are connected;
and finding terms by a piece of their name."""

from __future__ import annotations

from rlm.llm.offline.frames import Form, Noun, form, list_of

_KINDS = {
    "class": "(class|type|concept class)",
    "property": "(property|relation|predicate|attribute)",
    "object property": "object property",
    "datatype property": "(datatype property|data property)",
    "annotation property": "annotation property",
    "individual": "(individual|instance)",
    "term": "(term|thing|entity|concept|resource|element|something|anything)",
}
_CALLED = "[called|named|labelled|labeled|by the name [of]|with the name|with the label]"
_PIECE = "[the] [text|word|string|substring|letters|term] {text}"
_NAMES = {"": "(name|names|name or label|names or labels)", "label": "(label|labels|rdfs:label)"}
_BY_NAME = (
    f"(with|having|have|has|that have|including|containing|contain|that contain) {_PIECE} (in|as"
    " part of|within) (their|the|its|a) NAME",
    "(whose|with|have|has|that have) [a|the] NAME (contain|contains|containing|include|includes"
    f"|including|that contains|that contain|that include|which contain|having|with) {_PIECE}",
    f"(match|matches|matching|mention|mentions|mentioning) {_PIECE} in (their|the|its) NAME",
)
_AT_END = "[(whose|with|have|that have) [a|the] (name|names|label|labels)] [that]"
_WITH_PIECE = {
    "": (
        *_BY_NAME,
        f"(containing|contain|contains|that contain|include|that include) {_PIECE}",
        f"(match|matches|matching|mention|mentions|mentioning|about|like) {_PIECE}",
        "(with|for) [the] [text|word|string] {quoted}",
    ),
    "label": _BY_NAME,
    "start": (f"{_AT_END} (start|starts|starting|begin|begins|beginning) with {_PIECE}",),
    "end": (f"{_AT_END} (end|ends|ending) (with|in) {_PIECE}",),
}
_SEARCHED = {
    "terms": ("(terms|term|entities|things|names|concepts|everything|anything)", ""),
    "classes": ("(classes|class)", "class"),
    "properties": ("(properties|property|relations)", "property"),
    "individuals": ("(individuals|instances)", "individual"),
}


DESCRIPTIONS = [
    form("describe: What is Tug?", "tell_description(describe_entity($term))",
         "(what|who) (is|are) [meant by] {term}",
         "(describe|explain|define) [for me|to me] {term}",
         "tell me [more|something] about {term}", "(what|who) is {term} about",
         "what (does|do) {term} (mean|stand for|denote|represent|refer to)",
         "what is the meaning of {term}", "what (does|do) <it> mean by {term}",
         "(what can you tell|what do (you|we) know|tell me what you know) [me] about {term}",
         "<list> [all] (information|details|info|everything|a description|an overview|a"
         " summary|the details) [you have] (on|about|of|for) {term}",
         "(information|details) (on|about) {term}", "show me {term}",
         "(what|which) [term|class|property|individual|concept|thing] (is|has|have|carries)"
         " (labelled|labeled|called|named|[the] label|[the] name|[the] [rdfs:label]) {term}",
         "<head> [the] (term|class|property|individual|concept|thing) (labelled|labeled|called"
         "|named|with [the] label|with the name) {term}"),
    form("describe_with_properties: What is Tug and what properties does it have?",
         'tell_description(describe_entity($class)) + "\\n" + tell_list(fetch("related", $class,'
         ' relation="properties"), "property that may be stated", "properties that may be stated")',
         "what is {class} and <wh> <property> does it have", "describe {class} and its <property>"),
    *(
        form(f"exists_{kind.replace(' ', '_')}: Is there any {kind} called Tug?", "",
             f"is there [a|an|any] {said} {_CALLED} {{term}} <onto>",
             f"(does|do) <it> <have> [a|an|any|the] {said} {_CALLED} {{term}}",
             f"does [a|an|the] {said} {_CALLED} {{term}} exist <onto>",
             *("is {term} (defined|declared|known|a term|present) <onto>",
               "is there [a|an|any] {term} <onto>", "does {term} exist <onto>",
               "does <it> <have> [a|an|any] {term}") * (kind == "term"))
        for kind, said in _KINDS.items()
    ),
    *(
        form(f"is_{kind.replace(' ', '_')}: Is Tug a known {kind}?", "",
             f"is {{term}} [a|an] [declared|known] {said} <onto>")
        for kind, said in _KINDS.items() if kind != "term"
    ),
]  # fmt: skip

_ANYTHING = (
    "(search|look) [for] {text} [<onto>]",
    "(find|search [for]) [all|any|the] [terms|everything|anything] [about|on] {text}",
)


def _searches(many: str, said: str, kind: str, where: str) -> list[Form]:
    """Terms of a kind by a piece of their name or label, of a label alone, or at one end."""
    pieces = f"({'|'.join(_WITH_PIECE[where])})".replace("NAME", _NAMES.get(where, ""))
    found = f"keep_types(sparql_query(search_query($text, {where!r}), limit=10000), {kind!r})"
    such = f"with such a {'label' if where == 'label' else 'name'}"
    told = f'{found}, "{kind or "term"} {such}", "{many} {such}"'
    name = f"search_{many}{f'_by_{where}' * bool(where)}"
    has = {"": '"cargo" in their name', "label": '"cargo" in their label'}
    example = f"{many} have {has.get(where) or f'a name that {where}s with Cargo'}?"
    listed = (
        f"(<wh>|[is there|are there|<head>|(search|look) for] [all|every|each|any] [of] [the])"
        f" {said} {pieces} <onto>"
    )
    return [
        form(f"{name}: Which {example}", f"add_labels(tell_list({told}))", listed,
             *_ANYTHING[: 2 * (not kind and not where)]),
        form(f"count_{name}" + f": How many {example}" * (not where + kind), f"tell_count({told})",
             f"(how many|<count>) {said} [<there>] {pieces} <onto>"),
    ]  # fmt: skip


SEARCHES = [
    form
    for many, (said, kind) in _SEARCHED.items()
    for where in _WITH_PIECE
    for form in _searches(many, said, kind, where)
]

_LABEL = "([preferred|rdfs|main] (label|labels|name|names)|rdfs:label|rdfs:labels)"
_SYNONYM = (
    "(synonym|synonyms|(alternative|alternate|other) (label|labels|name|names|term|terms)|altlabel"
    "|altlabels|alias|aliases)"
)
_SYNONYM_SORTS = ("exact", "broad", "narrow", "related")
_DEFINITION = "(definition|definitions|textual definition|textual definitions)"
_COMMENT = "(comment|comments|rdfs:comment|rdfs:comments|description|note)"
_EXAMPLE = (
    "(usage example|usage examples|example of usage|examples of usage|example of use"
    "|examples of use|skos:example|skos:examples|skos example|skos examples)"
)


_DEFINED = 'tell_definition(fetch("labels", $term), fetch("restrictions", $term))'


def _texts(name: str, noun: str, kind: str, one: str, more: tuple[str, ...]) -> list[Form]:
    """What a term is called or how it is explained, in any language or in one."""
    call = 'fetch("labels", $term)'
    say = f"{one!r}"
    lang = "(in|in the language) {lang}"
    return [
        form(f"{name}: What is the {one} of Tug?",
             f"tell_texts({call}, {kind!r}, {say})" if kind != "definition" else _DEFINED,
             f"<head> [all|every] [the] {noun} (of|for|on) {{term}} [in (all|every|any)"
             " (language|languages)]",
             f"<wh> {noun} (does|do|has|have) {{term}} <has>", f"<head> {{term}} ['s] {noun}",
             f"does {{term}} have [a|an|any] {noun}", f"(what|which) {noun} <there> for {{term}}",
             *more),
        form(f"{name}_in_language: What is the German {one} of Tug?",
             f'tell_texts(fetch("labels", $term, lang=$lang), {kind!r}, {say}, $lang)',
             f"<head> [all] [the] {{lang}} {noun} (of|for) {{term}}",
             f"<head> [all] [the] {noun} (of|for) {{term}} {lang}",
             f"<wh> {{lang}} {noun} (does|do|has|have) {{term}} <has>",
             f"<wh> {noun} (does|do|has|have) {{term}} <has> {lang}",
             f"<head> {{term}} 's {{lang}} {noun}",
             f"does {{term}} have [a|an|any] ({{lang}} {noun}|{noun} {lang})",
             f"is there [a|an] ({{lang}} {noun} (of|for) {{term}}|{noun} (of|for) {{term}} {lang})",
             *(("what is {term} called in {lang}", "how is {term} called in {lang}",
             "how (do|would|can|does) (you|i|we|one) (say|call|write) {term} in {lang}",
             "what (do|would) (you|i|we) call {term} in {lang}",
             "how is {term} labelled in {lang}", "[what is] {term} in {lang}",
             "what is the {lang} (word|term) for {term}", "[what is] {lang} for {term}",
             "is {term} labelled in {lang}", ) if kind == "label" else () )),
        form(f"count_{name}: How many {one}s does Tug have?",
             f"tell_texts({call}, {kind!r}, {say}, counts=True)",
             f"how many {noun} (does|do|has|have) {{term}} [have]",
             f"how many {noun} <there> (of|for) {{term}}", f"<count> {noun} (of|for) {{term}}"),
    ]  # fmt: skip


LABELS = [
    *_texts("label", _LABEL, "label", "label", ("(what|how) is {term} labelled",)),
    *_texts("synonym", _SYNONYM, "synonym", "synonym",
            ("what (else is {term}|is {term} also) (called|known as)",)),
    *_texts("definition", _DEFINITION, "definition", "definition", ()),
    form("how_defined: How is Tug defined?", _DEFINED, "how (is|are) {term} [being] defined",
         "how (does|do) <it> define {term}",
         "what (makes|defines) [something|a thing|an individual] {term}",
         "when is (something|a thing|an individual) {term}"),
    *(
        form(f"{sort.lower()}_{kind}: What is the {said.partition('|')[0].strip('(')} of Tug?",
             f'tell_texts(fetch("labels", $term), "{kind}", "{sort} {kind}")',
             f"<head> [all] [the] {said} (of|for) {{term}}",
             f"<wh> {said} (does|do|has|have) {{term}} <has>")
        for sort, kind, said in (
            *((each, "synonym", f"({each} synonym|{each} synonyms)") for each in _SYNONYM_SORTS),
            ("prefLabel", "label", "(prefLabel|skos:prefLabel|prefLabels)"),
        )
    ),
    *_texts("comment", _COMMENT, "comment", "comment", ()),
    *_texts("usage_example", _EXAMPLE, "example", "usage example", ()),
    form("label_languages: In which languages does Tug have a label?",
         'tell_languages(fetch("labels", $term))',
         "[in] <wh> (language|languages) (does|do) {term} have [a|any] (label|labels) [in]",
         "[in] <wh> (language|languages) (is|are) {term} labelled [in]",
         "[in] <wh> (language|languages) (is|are) [the] (label|labels) of {term}"
         " [given|available|in]", "<head> [the] languages of the labels of {term}"),
]  # fmt: skip
DEPRECATION = [
    form("is_deprecated: Is Tug deprecated?", "tell_deprecated(describe_entity($old))",
         "(is|are) {old} [now] [marked] [as] [a] (deprecated|obsolete|retired|outdated)"
         " [class|property|term] [and what (replaces it|should be used instead)]",
         "has {old} been (deprecated|retired|obsoleted)", "is {old} still (valid|current|in use)"),
    form("replaced_by: What replaces Tug?",
         'tell_replacement(fetch("related", $old, relation="replaced_by"))',
         "(what|which) [term|class|property|terms] (replaces|replace|supersedes|replaced) {old}",
         "(what|which) [term|class|property] (is|was|has been|should be) {old} [been]"
         " (replaced|superseded) by",
         "by (what|which) [term|class|property] (is|was|has been|should be) {old} [be]"
         " (replaced|superseded)",
         "(what|which) [term|class|property] should (be used|i use|one use|we use|you use) instead"
         " of {old}", "<head> [the] (replacement|replacements|successor) (of|for) {old}",
         "what [term] (is|should be) used (instead of|in place of) {old}",
         "(what|which) (replacement|replacements) does {old} have",
         "is {old} replaced by anything",
         "{old} (is|was|has been) [now] (obsolete|deprecated|retired|obsoleted) [so|and|but] (what"
         "|which [term|class|property]) (replaces it|replaced it|is its replacement|is the"
         " replacement|should (i|we|one) use [instead]|(do i|to) use instead|is used instead"
         "|supersedes it)"),
    form("replaces: What does Tug replace?",
         'tell_list(fetch("related", $old, relation="replaces"), "replaced term",'
         ' "replaced terms")',
         "(what|which) [term|terms|class|property] (does|did|has) {old}"
         " (replace|replaced|supersede)",
         "(what|which) [term|terms|class|classes|property|properties] (is|are|was|were) [to be]"
         " (replaced|superseded) by {old}"),
]  # fmt: skip
_IN_TREE = "[(in|through|along|via|up|within) the [class|subclass] (hierarchy|tree)]"
_WAY = (
    "[shortest|subclass|inheritance|class] (path|paths|connection|chain|route|link|relation"
    "|relationship|way)"
)
_CONNECTED = "(connected|related|linked|joined|associated)"
PAIRS = [
    form("path: How is Tug connected to Harbour?",
         "tell_paths(%term, %term2,"
         ' ontology_view("compare", $term, other=$term2)["kinds"])',
         f"how (is|are) {{term}} {_CONNECTED} (to|with) {{term2}} {_IN_TREE}",
         f"how (is|are) {{term}} and {{term2}} {_CONNECTED} [to|with] [each other] {_IN_TREE}",
         "how (do|does) {term} (and {term2} (relate|connect)|relate to {term2}) [to each other]",
         "(what|which) [chain|path] (connects|connect|links|link|joins|join|relates|relate)"
         " {term} (and|with|to) {term2}",
         f"[is there|<head>] [a|any|the] {_WAY} (from|between) {{term}} [up|down] (to|and)"
         f" {{term2}} {_IN_TREE}", f"(is|are) {{term}} {_CONNECTED} (to|with) {{term2}}",
         f"how (do|can|would|does) (you|i|we|one) get from {{term}} [up|down] to {{term2}}"
         f" {_IN_TREE}", "what (lies|is|stands|comes) between {term} and {term2}"),
    form("compare: Compare Tug and Barge.",
         'tell_comparison(ontology_view("compare", $term, other=$term2))',
         "compare {term} (and|with|to) {term2}",
         "<head> [the] (difference|differences) between {term} and {term2}",
         "how (does|do) {term} (differ from|and) {term2} [differ]",
         "what do {term} and {term2} have in common"),
    form("common_superclass: What is the nearest common superclass of Tug and Barge?",
         'tell_common(ontology_view("compare", $class, other=$class2))',
         "<head> [the] [nearest|lowest|closest|least|most specific] common"
         " (superclass|superclasses|ancestor|ancestors|parent) of {class} and {class2}"),
    *list_of(
        "shapes",
        Noun("(shape|shapes|shacl shape|shacl shapes|node shapes)", "shape", "shapes"),
        'fetch("shapes", $term)',
        "Which shapes target Tug?",
        listed=("(what|which) [shacl] shapes (target|apply to|are there for|check) {term}",),
    ),
]  # fmt: skip

FORMS = [*DESCRIPTIONS, *SEARCHES, *LABELS, *DEPRECATION, *PAIRS]
