"""Whether an answer stands on what the run has seen: every IRI in it must have come back from a
tool or been printed.

An IRI may be written whole, in `<>`, or as `prefix:name` with a prefix that is bound; either side
may write it either way. What only a memory said, and what the code itself spelt out and printed, is
no evidence. Nor is the question: a term that only the question or a query names counts when a tool
was asked about it and did not come back empty. A term that was asked for also counts where the
answer says that there is none: the empty result shows it. Where an ontology is asked, a term that a
run may have made up itself, by printing it or by a query that holds it, must be in there.

Terms of rdf, rdfs, owl, xsd and skos are vocabulary, the words in which such answers are given: no
claims, unless the ontology that is asked declares them and the run never asked about them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rlm.errors import RLMError
from rlm.learning.claims import values_in
from rlm.learning.words import says_absent, says_none, truth_of
from rlm.loop.trace import ToolCall, Trace
from rlm.ontology.engine.protocol import Engine
from rlm.ontology.terms import Prefixes
from rlm.ontology.vocabulary import VOCABULARY

NO_EVIDENCE = "any evidence: no tool was called and nothing was printed"
FAILED_CALL = "a look that worked: the last call failed ({})"
"""Entries that are no IRIs: an answer out of nothing, and “none” out of an error."""

_STOP = r"\s<>\"{}|^`\\“”„«»。，、）］】》"
_ANGLED = re.compile(r"<([A-Za-z][\w+.-]{0,63}:[^\x00-\x20<>\"{}|^`\\]*)>")
_BARE = re.compile(
    rf"(?<![\w+.-])(?:[A-Za-z][A-Za-z0-9+.-]{{0,31}}://(?=[^\s/])|urn:[A-Za-z0-9][A-Za-z0-9-]{{0,31}}:(?=\w))[^{_STOP}]*"
)
_JOINED = re.compile(r"[,;|)\]'](?=[A-Za-z][A-Za-z0-9+.-]*://)")
_CURIE = re.compile(
    r"(?<![\w:#@%\\.])(?<!\w-)([^\W\d][\w.-]{0,63}|):((?:\w|%[0-9A-Fa-f]{2})(?:[\w.-]|%[0-9A-Fa-f]{2}|\\[~.!$&'()*+,;=/?#@%_-])*)"
)
_ESCAPE = re.compile(r"\\u([0-9A-Fa-f]{4})|\\(/)")
_DECLARED = re.compile(r"\bprefix\s+([^\s:<>]*):\s*<([^\s<>\"]+)>", re.IGNORECASE)
_PAIRS = {")": "(", "]": "[", "}": "{"}
_MEMORY = ("mem_", "memory_")
_QUERIES = ("sparql_", "ctx_")
"""Tools that may give back what they were given."""
LOOKED_UP = 500
TOLD = 8
_IN_GRAPH = (
    "SELECT ?x WHERE {{ VALUES ?x {{ {} }} "
    "FILTER(EXISTS {{ ?x ?p ?o }} || EXISTS {{ ?s ?p ?x }} || EXISTS {{ ?s ?x ?o }}) }}"
)
_DECLARED_IN_GRAPH = "SELECT ?x WHERE {{ VALUES ?x {{ {} }} ?x a ?type }}"


def iris_in(text: str, namespaces: Mapping[str, str]) -> set[str]:
    """The IRIs that a text names, whole. Of `prefix:name` only those whose prefix is bound (or well
    known).

    >>> sorted(iris_in("Note: see prov:Agent (at 12:30, <http://a.example/x>).", {}))
    ['http://a.example/x', 'http://www.w3.org/ns/prov#Agent']
    """
    prefixes = namespaces if isinstance(namespaces, Prefixes) else Prefixes(namespaces)
    found: set[str] = set()

    def take_angled(match: re.Match[str]) -> str:
        found.add(_expand(match[1], prefixes))
        return " "

    def take_bare(match: re.Match[str]) -> str:
        parts = _JOINED.split(match[0])
        found.update(part for part in map(_trim, parts) if not part.endswith("://"))
        return " "

    rest = _BARE.sub(take_bare, _ANGLED.sub(take_angled, text))
    for match in _CURIE.finditer(rest):
        if match[1] in prefixes:
            found.add(_expand(f"{match[1]}:{_local(match[2])}", prefixes))
    return found


def _expand(name: str, prefixes: Prefixes) -> str:
    prefix, _, rest = name.partition(":")
    if rest.startswith("//") or prefix not in prefixes:
        return name
    return prefixes[prefix] + re.sub(r"\\(.)", r"\1", rest)


def _local(name: str) -> str:
    """The local part without the full stop of its sentence."""
    while name.endswith((".", "-")) and not name.endswith("\\."):
        name = name[:-1]
    return name


def _trim(iri: str) -> str:
    """An IRI without the punctuation around it; a bracket that was opened inside stays."""
    iri = re.split(r"'(?!\w)|…", iri, maxsplit=1)[0]
    end = len(iri)
    over = {close: iri.count(close) - iri.count(start) for close, start in _PAIRS.items()}
    while end:
        last = iri[end - 1]
        if last in over and over[last] > 0:
            over[last] -= 1
        elif last not in ".,;:!?'’‘*~([{":
            break
        end -= 1
    return iri[:end]


# -- evidence


def find_ungrounded(
    answer: str,
    evidence_texts: Iterable[str],
    namespaces: Mapping[str, str],
    trace: Trace | None = None,
    *,
    question: str = "",
    code: Sequence[str] = (),
    engine: Engine | None = None,
    bare: bool = True,
    results: Iterable[str] = (),
    looked: bool = False,
) -> list[str]:
    """The IRIs of an answer that were not seen, in short form and sorted; [] is good.

    An answer that says something when no tool was called and nothing was printed gives
    [NO_EVIDENCE], unless the run `looked` in another way, as by a search in its text. `code` is the
    code that ran: with a trace, what it printed of its own literals is no evidence. `engine` is the
    ontology that was asked; `bare` says that there was no text beside it, from which a term could
    come. `results` are the rows behind the handles of the run.
    """
    texts = [text for text in evidence_texts if text.strip()]
    calls = trace.all_calls() if trace is not None else []
    if not (texts or calls or looked):
        return [NO_EVIDENCE] * bool(re.search(r"\w", answer))
    prefixes = _bind_prefixes(namespaces, [*code, *_asked_texts(calls)])
    named = iris_in(answer, prefixes)
    if len(named) < 2 and says_none(answer) and (failed := _failed_last(calls, question)):
        return [FAILED_CALL.format(failed)]
    seen = _collect_seen(texts, calls, prefixes, code if trace is not None else (), results)
    left = {iri for iri in named - seen if not _is_namespace(iri, prefixes, seen)}
    if engine is not None and trace is not None:
        spaces = tuple(filter(None, namespaces.values()))
        own = {iri for iri in named - left if iri.startswith(spaces)}.difference(spaces)
        left |= _find_unknown(_own_words(own, calls, prefixes, code, bare=bare), engine)
    left -= _vocabulary_terms(left & VOCABULARY, calls, prefixes, code, engine)
    asked = iris_in(question, prefixes)
    left -= _excused_terms(answer, asked, calls, prefixes, traced=trace is not None)
    if engine is not None:
        read = left & _asked_terms(calls, prefixes, answered=True)
        left -= read - _find_unknown(read, engine)
    return sorted(map(prefixes.shrink, left))


def describe_doubt(unseen: Sequence[str]) -> str:
    """What a model is told of its answer before it is taken; '' when there is nothing to tell.

    >>> describe_doubt(["prov:Unicorn", "42"]).partition(":")[0]
    'Not taken yet'
    """
    if not unseen:
        return ""
    if NO_EVIDENCE in unseen:
        what = "nothing was looked at yet, so nothing supports this answer. Look first"
    elif failed := next((text for text in unseen if text.startswith(FAILED_CALL[:20])), ""):
        what = f"{failed[len(FAILED_CALL[:20]) :].strip()}. Look again"
    else:
        names = ", ".join(unseen[:TOLD]) + (" and others" if len(unseen) > TOLD else "")
        what = f"{names} in no result or output of this run. Check, or leave out"
        what = what.replace(" in no", " was in no" if len(unseen) == 1 else " were in no", 1)
    return f"Not taken yet: {what}, then answer again. The next answer is taken as it is."


def _failed_last(calls: Sequence[ToolCall], question: str) -> str:
    """The last call if it failed, unless it found that what the question names is not there."""
    last = next((call for call in reversed(calls) if not call.tool.startswith(_MEMORY)), None)
    if last is None or last.ok:
        return ""
    missing = re.match(r"(?:\w+: )?there is no \w+ (\S+)", last.error)
    return "" if missing and missing[1].strip("<>;") in question else f"{last.tool}: {last.error}"


def _bind_prefixes(namespaces: Mapping[str, str], texts: Iterable[str]) -> Prefixes:
    """The prefixes of the graph, and those that the run's own queries declared."""
    prefixes = Prefixes(namespaces)
    for text in texts:
        for match in _DECLARED.finditer(text):
            prefixes.setdefault(match[1], match[2])
    return prefixes


def _collect_seen(
    texts: Iterable[str],
    calls: Iterable[ToolCall],
    prefixes: Prefixes,
    code: Iterable[str],
    results: Iterable[str],
) -> set[str]:
    returned = set[str]().union(*(iris_in(text, prefixes) for text in results))
    remembered: set[str] = set()
    for call in calls:
        (remembered if call.tool.startswith(_MEMORY) else returned).update(
            _traced_iris(call.iris, prefixes)
        )
    printed: set[str] = set()
    for text in texts:
        printed |= iris_in(text, prefixes)
        if "\\u" in text or "\\/" in text:  # JSON that was printed as text
            printed |= iris_in(_ESCAPE.sub(_unescape, text), prefixes)
    for text in code:
        printed -= iris_in(text, prefixes)
    return returned | (printed - remembered)


def _own_words(
    named: set[str],
    calls: Sequence[ToolCall],
    prefixes: Prefixes,
    code: Iterable[str],
    *,
    bare: bool,
) -> set[str]:
    """Those that a run may have made up: spelt out, or printed and returned by no tool."""
    returned: set[str] = set()
    queried: set[str] = set()
    for call in calls:
        if not call.tool.startswith(_MEMORY):
            (queried if call.tool.startswith(_QUERIES) else returned).update(
                _traced_iris(call.iris, prefixes)
            )
    spelt = "\n".join([*code, *_asked_texts(calls)])

    def is_spelt(iri: str) -> bool:
        return (
            re.search(rf"(?<!\w){re.escape(re.split('[/#:]', iri)[-1])}(?!\w)", spelt) is not None
        )

    return {iri for iri in named - returned if (bare and iri not in queried) or is_spelt(iri)}


def _find_unknown(iris: set[str], engine: Engine, query: str = _IN_GRAPH) -> set[str]:
    """Those that are nowhere in a graph; none where it cannot be asked."""
    asked = [iri for iri in sorted(iris) if _ANGLED.fullmatch(f"<{iri}>")][:LOOKED_UP]
    if not asked:
        return set()
    try:
        found = engine.query(query.format(" ".join(f"<{iri}>" for iri in asked)), limit=LOOKED_UP)
    except RLMError:
        return set()
    return set(asked) - values_in(found).iris


def _traced_iris(names: Iterable[str], prefixes: Prefixes) -> Iterator[str]:
    """The IRIs of names as a trace keeps them: bare, without brackets."""
    for name in names:
        if "://" in name or name.partition(":")[0] in prefixes:
            yield _expand(name, prefixes)
            if name.count("(") > name.count(")"):  # the trace takes a last bracket for the text's
                yield _expand(name + ")", prefixes)
        else:
            yield name


def _unescape(match: re.Match[str]) -> str:
    return (
        chr(int(match[1], 16))
        if match[1] and not 0xD800 <= int(match[1], 16) <= 0xDFFF
        else match[2] or "\ufffd"
    )


def _is_namespace(iri: str, prefixes: Prefixes, seen: set[str]) -> bool:
    """A namespace that is bound and from which a term was seen."""
    return iri in prefixes.values() and any(other.startswith(iri) for other in seen)


def _vocabulary_terms(
    terms: set[str],
    calls: Sequence[ToolCall],
    prefixes: Prefixes,
    code: Iterable[str],
    engine: Engine | None,
) -> set[str]:
    """Those of a vocabulary's terms that are no claims."""
    if not terms or engine is None:
        return terms
    asked = {
        iri for text in (*code, *_asked_texts(calls)) for iri in iris_in(text, prefixes) & terms
    }
    return asked | _find_unknown(terms - asked, engine, _DECLARED_IN_GRAPH)


def _excused_terms(
    answer: str, asked: set[str], calls: Sequence[ToolCall], prefixes: Prefixes, *, traced: bool
) -> set[str]:
    """What the run looked for and the answer denies, and of the question what it found."""
    denied = says_absent(answer) or says_none(answer) or truth_of(answer) is False
    if not traced:
        return asked if denied else set()
    looked = _asked_terms(calls, prefixes, answered=not denied)
    return looked if denied else asked & looked


def _asked_terms(calls: Sequence[ToolCall], prefixes: Prefixes, *, answered: bool) -> set[str]:
    """What calls were about; `answered`: only those that something came back from."""
    read = {call.key for call in calls if call.key and _came_back(call)}
    return {
        iri
        for call in calls
        if not answered or _came_back(call) or (call.ok and call.key in read)
        for text in _texts(call.args.values())
        for iri in iris_in(text, prefixes)
    }


def _came_back(call: ToolCall) -> bool:
    """Whether a call brought something. A handle alone is nothing yet."""
    return call.ok and bool(call.iris or call.rows or call.value)


def _asked_texts(calls: Iterable[ToolCall]) -> Iterator[str]:
    for call in calls:
        yield from _texts(call.args.values())


def _texts(values: Iterable[Any]) -> Iterator[str]:
    return (value for value in values if isinstance(value, str))
