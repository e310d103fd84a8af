"""Forms of question about one term or two, and finding terms by a piece of their name."""

from __future__ import annotations

from rlm.llm.offline.frames import Form, Noun, form, list_of

_KINDS = {
    "class": "(class|type|concept class)", "property": "(property|relation|predicate|attribute)",
    "object property": "object property", "datatype property": "(datatype|data) property",
    "annotation property": "annotation property", "individual": "(individual|instance)",
    "term": "(term|thing|entity|concept|resource|element|something|anything)",
}  # fmt: skip
_CALLED = "[called|named|labelled|labeled|by the name [of]|with the name|with the label]"
_PIECE = "[text|word|string|substring|letters|term] {text}"
_NAMES = {"": "(name|name or label)", "label": "(label|rdfs:label)"}
_BY_NAME = (
    f"[that] (with|having|have|including|containing|contain) {_PIECE} (in|as part of|within)"
    " [their|its] NAME",
    "(whose|[that] (with|have)) NAME [that|which] (contain|containing|include|including|with)"
    f" {_PIECE}",
    f"[that] (match|matches|matching|mention|mentioning) {_PIECE} in [their|its] NAME",
)
_AT_END = "[(whose|with|have|that have) (name|label)] [that]"
_WITH_PIECE = {
    "": (
        *_BY_NAME,
        f"[that] (containing|contain|include|match|matches|matching|mention|mentioning|about|like)"
        f" {_PIECE}",
        "(with|for) [text|word|string] {quoted}",
    ),
    "label": _BY_NAME,
    "start": (f"{_AT_END} (start|starting|begin|beginning) with {_PIECE}",),
    "end": (f"{_AT_END} (end|ending) (with|in) {_PIECE}",),
}
_SEARCHED = {
    "terms": ("(terms|entities|things|names|concepts|everything|anything)", ""),
    "classes": ("classes", "class"),
    "properties": ("(properties|relations)", "property"),
    "individuals": ("(individuals|instances)", "individual"),
}


DESCRIPTIONS = [
    form("describe: What is Tug?", "tell_description(describe_entity($term))",
         "(what|who) is [meant by] {term}", "(describe|explain|define) [for me|to me] {term}",
         "tell me [more|something] about {term}", "(what|who) is {term} about",
         "what does {term} (mean|stand for|denote|represent|refer to)",
         "what is the meaning of {term}", "what does <it> (mean by|say about) {term}",
         "(what can you tell|what do (you|we) know|tell me what you know) [me] about {term}",
         "<list> [all] (information|details|info|everything|a description|an overview|a"
         " summary|the details) [you have] (on|about|of|for) {term}",
         "(information|details) (on|about) {term}", "show me {term}", "what"
         " [term|class|property|individual|concept|thing] (is|has|carries)"
         " (labelled|labeled|called|named|label|name|rdfs:label) {term}", "<head>"
         " (term|class|property|individual|concept|thing) (labelled|labeled|called|named|with"
         " label|with the name) {term}"),
    *(
        form(f"exists_{kind.replace(' ', '_')}: Is there any {kind} called Tug?", "",
             f"is there [any] {said} {_CALLED} {{term}} <onto>",
             f"does <it> <have> [any] {said} {_CALLED} {{term}}",
             f"does {said} {_CALLED} {{term}} exist <onto>",
             *("is {term} (defined|declared|known|a term|present) <onto>",
               "is there [any] {term} <onto>", "does {term} exist <onto>",
               "does <it> <have> [any] {term}") * (kind == "term"))
        for kind, said in _KINDS.items()
    ),
    *(
        form(f"is_{kind.replace(' ', '_')}: Is Tug a known {kind}?", "",
             f"is {{term}} [declared|known] {said} <onto>")
        for kind, said in _KINDS.items() if kind != "term"
    ),
]  # fmt: skip

_ANYTHING = (
    "(search|look) [for] {text} [<onto>]",
    "(find|search [for]) [all|any] [terms|everything|anything] [about|on] {text}",
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
        f"(<wh>|[is there|are there|<head>|(search|look) for] [all|every|each|any] [of])"
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

_LABEL = "([preferred|rdfs|main] (label|name)|rdfs:label)"
_SYNONYM = (
    "(synonym|(alternative|alternate|other|another) (label|name|term)|altlabel|alias|aliases)"
)
_SYNONYM_SORTS = ("exact", "broad", "narrow", "related")
_DEFINITION = "(definition|textual definition)"
_COMMENT = "(comment|rdfs:comment|description|note)"
_EXAMPLE = "(usage example|example of (usage|use)|skos:example|skos example)"


_DEFINED = 'tell_definition(fetch("labels", $term), fetch("restrictions", $term))'


def _texts(name: str, noun: str, kind: str, one: str, more: tuple[str, ...]) -> list[Form]:
    """What a term is called or how it is explained, in any language or in one."""
    call = 'fetch("labels", $term)'
    say = f"{one!r}"
    lang = "(in|in the language) {lang}"
    return [
        form(f"{name}: What is the {one} of Tug?", f"tell_texts({call}, {kind!r}, {say})" if kind
             != "definition" else _DEFINED, f"<head> [all|every] {noun} (of|for|on) {{term}} [in"
             f" (all|every|any) language]", f"<wh> {noun} (does|has) {{term}} <has>",
             f"<head> {{term}} ['s] {noun}", f"(does|is) {{term}} (<has>|known (by|under)) [any]"
             f" {noun}", f"what {noun} <there> for {{term}}", * more),
        form(f"{name}_in_language: What is the German {one} of Tug?",
             f'tell_texts(fetch("labels", $term, lang=$lang), {kind!r}, {say}, $lang)',
             f"(<head> [all]|is there) ({{lang}} {noun} (of|for) {{term}}|{noun} (of|for) {{term}}"
             f" {lang}|{{term}} ['s] ({{lang}} {noun}|{noun} {lang}))",
             f"<wh> {{lang}} {noun} (does|has) {{term}} <has>",
             f"<wh> {noun} (does|has) {{term}} <has> {lang}",
             f"does {{term}} have [any] ({{lang}} {noun}|{noun} {lang})",
             *(("(what|how) is {term} (called|labelled|named|known) in {lang}",
             "(how|what) (do|would|can) (you|i|we|one) (say|call|write) {term} in {lang}",
             "[what is] ({lang} [word|term] for {term}|{term} in {lang})",
             "is {term} labelled in {lang}", ) if kind == "label" else () )),
        form(f"count_{name}: How many {one}s does Tug have?",
             f"tell_texts({call}, {kind!r}, {say}, counts=True)",
             f"how many {noun} (does|has) {{term}} [have]",
             f"how many {noun} <there> (of|for) {{term}}", f"<count> {noun} (of|for) {{term}}"),
    ]  # fmt: skip


LABELS = [
    *_texts("label", _LABEL, "label", "label", ("(what|how) is {term} labelled",)),
    *_texts("synonym", _SYNONYM, "synonym", "synonym",
            ("what (else is {term}|is {term} also) (called|known as)",)),
    *_texts("definition", _DEFINITION, "definition", "definition", ()),
    form("how_defined: How is Tug defined?", _DEFINED, "how is {term} [being] defined",
         "how does <it> define {term}", "what (makes|defines) [something|a thing|an individual]"
         " {term}", "when is (something|a thing|an individual) {term}"),
    *(
        form(f"{sort.lower()}_{kind}: What is the {said.partition('|')[0].strip('(')} of Tug?",
             f'tell_texts(fetch("labels", $term), "{kind}", "{sort} {kind}")',
             f"<head> [all] {said} (of|for) {{term}}", f"<wh> {said} (does|has) {{term}} <has>")
        for sort, kind, said in (
            *((each, "synonym", f"({each} synonym|{each} synonyms)") for each in _SYNONYM_SORTS),
            ("prefLabel", "label", "(prefLabel|skos:prefLabel)"),
        )
    ),
    *_texts("comment", _COMMENT, "comment", "comment", ()),
    *_texts("usage_example", _EXAMPLE, "example", "usage example", ()),
    form("label_languages: In which languages does Tug have a label?",
         'tell_languages(fetch("labels", $term))', "<wh> language does {term} have [any] label in",
         "<wh> language is {term} labelled in", "<wh> language is label of {term}"
         " [given|available] [in]", "<head> languages of the labels of {term}"),
]  # fmt: skip
DEPRECATION = [
    form("is_deprecated: Is Tug deprecated?", "tell_deprecated(describe_entity($old))",
         "is {old} [now] (deprecated|obsolete|retired|outdated) [class|property|term]",
         "is {old} still (valid|current|in use)"),
    form("replaced_by: What replaces Tug?", 'tell_replacement(fetch("related", $old,'
         ' relation="replaced_by"))', "what [term|class|property] (replaces|supersedes|replaced)"
         " {old}", "what [term|class|property] (is|should) {old} [be] (replaced|superseded) by",
         "what [term|class|property] (should (be used|i use|one use|we use|you use)|to use)"
         " instead [of {old}]", "<head> (replacement|successor) (of|for) {old}",
         "what [term] (is|should be) used (instead of|in place of) {old}",
         "what replacement does {old} have", "is {old} replaced by anything"),
    form("replaces: What does Tug replace?", 'tell_list(fetch("related", $old,'
         ' relation="replaces"), "replaced term", "replaced terms")',
         "what [term|class|property] (does|has) {old} (replace|replaced|supersede)",
         "what [term|class|property] is [to be] (replaced|superseded) by {old}"),
]  # fmt: skip
_IN_TREE = "[(in|through|along|via|up|within) the [class|subclass] (hierarchy|tree)]"
_WAY = "[shortest|subclass|class] (path|connection|chain|route|link|relation|relationship|way)"
_CONNECTED = "(connected|related|linked|joined|associated)"
PAIRS = [
    form("path: How is Tug connected to Harbour?",
         'tell_paths(%term, %term2, ontology_view("compare", $term, other=$term2)["kinds"])',
         f"how is {{term}} {_CONNECTED} (to|with) {{term2}} {_IN_TREE}",
         f"how is {{term}} and {{term2}} {_CONNECTED} [to|with] [each other] {_IN_TREE}",
         "how do {term} (and {term2} (relate|connect)|relate to {term2}) [to each other]",
         "what [chain|path] (connects|links|joins|relates) {term} (and|with|to) {term2}",
         f"[is there|<head>] [any] {_WAY} (from|between) {{term}} [up|down] (to|and)"
         f" {{term2}} {_IN_TREE}", f"is {{term}} {_CONNECTED} (to|with) {{term2}}",
         f"how (do|can|would) (you|i|we|one) get from {{term}} [up|down] to {{term2}}"
         f" {_IN_TREE}", "what (lies|is|stands|comes) between {term} and {term2}"),
    form("compare: Compare Tug and Barge.", 'tell_comparison(ontology_view("compare", $term,'
         ' other=$term2))', "compare {term} (and|with|to) {term2}",
         "<head> difference between {term} and {term2}",
         "how does {term} (differ from|and) {term2} [differ]",
         "what do {term} and {term2} have in common"),
    form("common_superclass: What is the nearest common superclass of Tug and Barge?",
         'tell_common(ontology_view("compare", $class, other=$class2))',
         "<head> [nearest|lowest|closest|least|most specific] common"
         " (superclass|ancestor|parent) of {class} and {class2}"),
    *list_of("shapes", Noun("[shacl|node] shape", "shape", "shapes"), 'fetch("shapes", $term)',
        "Which shapes target Tug?",
        listed=("what [shacl] shapes (target|apply to|are there for|check) {term}",)),
]  # fmt: skip

FORMS = [*DESCRIPTIONS, *SEARCHES, *LABELS, *DEPRECATION, *PAIRS]
