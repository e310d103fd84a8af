"""From the words of a slot to a term of the ontology: by name, label, CURIE or IRI alone.

A name counts where all of it is the name of a term; humps, case and hyphens do not matter, an
article or the word for its kind may stand beside it, and a plural is tried as a singular. What
several terms are called is ambiguous, what none is called is missing: neither is guessed at.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

_ARTICLE = re.compile(r"^(?:the|a|an) (?=.)", re.IGNORECASE)
_OLD = re.compile(r"^(?:deprecated|obsolete) (?=(?:class|property|term|concept) .)", re.I)
_KIND_WORDS = {
    **dict.fromkeys(("class", "classes"), "class"),
    **dict.fromkeys(("property", "properties", "relation", "object property", "datatype property",
                     "data property", "annotation property"), "property"),
    **dict.fromkeys(("individual", "instance"), "individual"),
    **dict.fromkeys(("term", "concept", "entity", "scheme", "collection"), ""),
}  # fmt: skip
_ODD_PLURALS = {
    "people": "person", "children": "child", "men": "man", "women": "woman", "indices": "index",
    "vertices": "vertex", "criteria": "criterion", "phenomena": "phenomenon", "data": "datum",
}  # fmt: skip
_SINGULARS = ((r"(?<=\w\w)ies$", "y"), (r"(?<=s|x|z)es$", ""), (r"(?<=ch|sh)es$", ""),
              (r"(?<=\w\wves)$", ""), (r"(?<=[^su])s$", ""))  # fmt: skip
_BRACKETED = re.compile(r"(.+\S) \((\S.*)\)")
_SPACES = {
    "rdf": "1999/02/22-rdf-syntax-ns#", "rdfs": "2000/01/rdf-schema#", "owl": "2002/07/owl#",
    "xsd": "2001/XMLSchema#", "skos": "2004/02/skos/core#",
}  # fmt: skip
VOCABULARY = ("rdf:", "rdfs:", "owl:")
_DATATYPE_NAMES = """
    string boolean integer decimal double float date time dateTime duration anyURI int long short
    nonNegativeInteger positiveInteger gYear language token langString
"""
_DATATYPES = frozenset(_DATATYPE_NAMES.split())
_LANGUAGES = (
    "english:en german:de french:fr spanish:es italian:it dutch:nl portuguese:pt japanese:ja"
    " chinese:zh korean:ko russian:ru polish:pl czech:cs danish:da swedish:sv norwegian:no"
    " finnish:fi greek:el hungarian:hu turkish:tr arabic:ar hebrew:he ukrainian:uk catalan:ca"
    " latin:la romanian:ro bulgarian:bg estonian:et latvian:lv lithuanian:lt slovak:sk"
    " slovenian:sl croatian:hr irish:ga persian:fa hindi:hi basque:eu galician:gl icelandic:is"
    " vietnamese:vi thai:th"
)
LANGUAGES = dict(pair.split(":") for pair in _LANGUAGES.split())
LANGUAGES["brazilian portuguese"] = "pt-br"

MISSING, AMBIGUOUS, WRONG_KIND = "missing", "ambiguous", "wrong kind"


@dataclass(frozen=True, slots=True)
class NamedTerm:
    """A term that has exactly this name."""

    uri: str
    curie: str
    kind: str
    field: str
    """Where the name stands: label, alternative, localname or iri."""
    is_deprecated: bool = False


@dataclass(frozen=True, slots=True)
class Lookup:
    """What a search for one spelling found: the terms of that very name, and others near it."""

    exact: tuple[NamedTerm, ...] = ()
    near: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Link:
    """The term that a name means, or what is wrong with the name."""

    mention: str
    term: NamedTerm | None = None
    problem: str = ""
    candidates: tuple[str, ...] = ()
    terms: tuple[NamedTerm, ...] = ()
    """Those that have this name: of these it may mean one."""

    @property
    def named(self) -> list[NamedTerm]:
        """The term, then those of the file that are called so too."""
        own = [each for each in self.terms if each.field != "alternative" and each != self.term
               and not each.curie.startswith(VOCABULARY)]  # fmt: skip
        return [self.term, *own] if self.term else []

    @property
    def others(self) -> list[str]:
        """What is of the same kind as the term and is called so too."""
        return [each.curie for each in self.named[1:] if each.kind == self.named[0].kind]


def spellings(mention: str, kind: str = "", *, quoted: bool = False) -> list[tuple[str, str]]:
    """The ways to read a mention, in order: a name, and the kind that a word beside it says. What
    is `old` may be labelled so: “obsolete draft”."""
    if both := _BRACKETED.fullmatch(mention):
        return [(part, "") for part in (mention, *both.groups())]
    found: dict[str, str] = {}
    if not quoted:
        bare = _OLD.sub("", _ARTICLE.sub("", mention))
        found.setdefault(bare, "")
        for word, said in _KIND_WORDS.items():
            if bare.lower().startswith(f"{word} ") or bare.lower().endswith(f" {word}"):
                inner = re.sub(rf"(?i)^{word} (?:called |named )?|(?: {word}| {word}s)$", "", bare)
                found.setdefault(_ARTICLE.sub("", inner), said)
    found.setdefault(mention, "")
    for name, said in list(found.items()):
        found.setdefault(singular(name), said)
        head, of, rest = name.partition(" of ")  # "days of the week": DayOfWeek
        if of and not quoted:
            found.setdefault(f"{singular(head)} of {_ARTICLE.sub('', rest)}", said)
    if kind == "old":
        found.setdefault(f"obsolete {next(iter(found))}", "")
    return [(name.strip("\"'`<>"), said) for name, said in found.items() if name.strip("\"'`<>")]


def bare_name(mention: str) -> str:
    """A mention without its article and the word for its kind."""
    bare = _ARTICLE.sub("", mention)
    for word in _KIND_WORDS:
        bare = re.sub(rf"^{word} (?=.)|(?<=.) {word}$", "", bare)
    return bare


def singular(name: str) -> str:
    """The name with its last word in the singular."""
    head, gap, last = name.rpartition(" ")
    if (odd := _ODD_PLURALS.get(last.lower())) is not None:
        return f"{head}{gap}{odd}"
    for ending, instead in _SINGULARS:
        if re.search(ending, last) and len(last) > 3:
            return f"{head}{gap}{re.sub(ending, instead, last)}"
    return name


def language_tag(words: str) -> str | None:
    """The tag of a language by its name, or the tag itself; None for what is no language."""
    lower = words.lower().strip()
    if lower in LANGUAGES:
        return LANGUAGES[lower]
    is_tag = re.fullmatch(r"[a-z]{2}(?:-[a-z0-9]{2,8})?", lower) and lower[:2] in LANGUAGES.values()
    return lower if is_tag else None


def link(
    mention: str, kind: str, found: Mapping[str, Lookup], *, quoted: bool = False, own: str = ""
) -> Link:
    """The one term of that kind that has this name; of several, that of the namespace `own`."""
    both = _BRACKETED.fullmatch(mention)
    if both and not found.get(mention, Lookup()).exact:
        return _link_bracketed(mention, both[1], both[2], found)
    wrong: tuple[str, ...] = ()
    near: tuple[str, ...] = ()
    for name, said in spellings(mention, kind, quoted=quoted):
        lookup = found.get(name, Lookup())
        near = near or lookup.near
        if fitting := [term for term in lookup.exact if _fits(term, said or kind, kind)]:
            chosen = _prefer(fitting, name, kind, own)
            if len(chosen) == 1:
                return Link(mention, chosen[0], terms=tuple(fitting))
            names = tuple(term.curie for term in chosen)
            return Link(mention, None, AMBIGUOUS, names, tuple(chosen))
        wrong = wrong or tuple(f"{term.curie} ({term.kind})" for term in lookup.exact)
        if standard := _standard_term(name, kind):
            return Link(mention, standard)
    return Link(mention, None, WRONG_KIND if wrong else MISSING, wrong or near)


def _link_bracketed(mention: str, name: str, code: str, found: Mapping[str, Lookup]) -> Link:
    """`Map (data_1274)`: the name and the code of one term."""
    one, two = (link(part, "term", found, quoted=True) for part in (name, code))
    exact = {term.uri for term in found.get(name, Lookup()).exact}
    if two.term and (two.term.kind == "datatype" or two.term.uri in exact):
        return Link(mention, two.term)
    return one if one.term is None else Link(mention, None, MISSING)


def _standard_term(name: str, kind: str) -> NamedTerm | None:
    """A term of the field's own vocabularies, which no file needs to declare."""
    plain = name.removeprefix("xsd:")
    is_datatype = kind == "range" and plain in _DATATYPES
    curie = f"xsd:{plain}" if is_datatype else name
    prefix, _, local = curie.partition(":")
    if prefix not in _SPACES or not re.fullmatch(r"\w+", local):
        return None
    said = "datatype" if is_datatype else "vocabulary"
    return NamedTerm(f"http://www.w3.org/{_SPACES[prefix]}{local}", curie, said, "iri")


def _fits(term: NamedTerm, said: str, kind: str) -> bool:
    for wanted in (said, kind):
        if wanted == "class" and "class" not in term.kind:
            return False
        if wanted == "property" and "property" not in term.kind:
            return False
    return not (kind == "range" and "property" in term.kind)


def _prefer(terms: Sequence[NamedTerm], name: str, kind: str, own: str) -> list[NamedTerm]:
    """Of several, those that have it as their own name; of the kind meant; of the ontology itself,
    where others are only referred to; spelt so letter by letter."""
    mixed = kind == "old" and len({term.is_deprecated for term in terms}) > 1
    tests: tuple[Callable[[NamedTerm], bool], ...] = (
        lambda term: name in (term.curie, term.uri),
        lambda term: term.field != "alternative",
        lambda term: kind != "individual" or "individual" in term.kind,
        lambda term: "ontology" not in term.kind,
        lambda term: kind == "old" or not term.is_deprecated,
        lambda term: bool(own) and term.uri.startswith(own) and not mixed,
        lambda term: re.split(r"[/#:]", term.curie.rstrip(">"))[-1] == name.replace(" ", ""),
    )
    chosen = list({term.uri: term for term in terms}.values())
    for test in tests:
        chosen = [term for term in chosen if test(term)] or chosen
    return chosen
