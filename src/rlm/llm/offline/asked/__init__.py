"""What a question about an ontology asks for: its kind and the names in it, by rules, without any
ontology at hand.

English only. A question that fits no rule is not understood, and `understand` says so with None:
another language, an opinion, a request to change something, small talk. It is never taken for the
nearest kind. The rules are tried in a fixed order, the narrower before the wider, so that a
question that could be of two kinds is of the likelier one.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache

from rlm.llm.offline.asked.frames import framed, guessed
from rlm.llm.offline.asked.gates import GATES
from rlm.llm.offline.asked.grammar import Rule, Words, everything, pattern
from rlm.llm.offline.asked.kinds import (
    COUNTED,
    FAMILIES,
    KINDS,
    MAX_CHARS,
    OPEN,
    Asked,
    Lazy,
    family_of,
    generalised,
    hidden,
)
from rlm.llm.offline.asked.names import looks_named, name_in, of_vocabulary, text_in
from rlm.llm.offline.asked.notation import in_signs, in_words, respelled
from rlm.llm.offline.asked.properties import BY_DOMAIN, BY_RANGE, NAMED, SEARCH
from rlm.llm.offline.asked.rules import (
    HAS_ANY,
    IS_SUBCLASS,
    NAMESPACES,
    PATH,
    ROOTS,
    SUBCLASSES,
    SUPERCLASSES,
)
from rlm.llm.offline.asked.several import (
    listed_and_counted,
    may_be_several,
    narrowed,
    parted,
    read_joined,
    typed,
)
from rlm.llm.offline.asked.short import COUNT, LEAD, PLURAL, THERE, TOTALS
from rlm.llm.offline.asked.terms import ABOUT, DESCRIBE, EXISTS, INSTANCES
from rlm.llm.offline.asked.text import ABOUT_THE_WHOLE, OVERVIEW, STEERING, Prepared, prepare

__all__ = ["COUNTED", "FAMILIES", "KINDS", "Asked", "family_of", "generalised", "understand"]

_LISTED = (
    ABOUT,
    NAMESPACES,
    ROOTS,
    NAMED,
    SUPERCLASSES,
    SUBCLASSES,
    PATH,
    BY_RANGE,
    BY_DOMAIN,
    INSTANCES,
    SEARCH,
)
_NOUNS = (
    ("class|concept|type|categor", "class"),
    ("propert|attribute|relation|predicate", "property"),
    ("individual|instance", "individual"),
)
_ENDS = Lazy(r"(?<=[a-z\ue001][.?!;]) +(?=[A-Za-z])")
_LIMITS = Lazy(
    r"\b(?:exclud\w*|except|only|but|not|without|ignor\w*|skip|leave|omit|filter|sort\w*|order|limit|then|also|and|"
    r"compare|drop|no|don['’]t|just)\b",
    re.I,
)
_YES_NO = Lazy(
    r"(?:is|are|does|do|has|have|can|could|would|was|if|whether|may|did|check|verify)\b", re.I
)


@lru_cache(maxsize=64)  # the planner reads the same question in every turn
def understand(question: str) -> Asked | None:
    """What a question asks for, or None when no rule knows."""
    if len(question) > MAX_CHARS:
        return None
    marked, names = hidden(question)
    if ABOUT_THE_WHOLE.search(marked):
        return None
    if OVERVIEW.match(marked):
        return Asked("describe")
    text = in_words(respelled(marked)).replace("@prefix", "prefix")
    found = (
        in_signs(marked, names)
        or listed_and_counted(text, names, _understood_text)
        or _understood_text(text, names)
    )
    if found is None or may_be_several(found, names):
        found = read_joined(text, names, _understood_text) or (
            parted(text, found) if found else None
        )
    found = narrowed(found, text, names)
    return (
        _without_stars(found)
        if (found and "*" in question) or "^" in question or "$" in question
        else found
    )


def _without_stars(asked: Asked | None) -> Asked | None:
    """ "*cable*", "^has.*": a piece of name as a pattern has it, or a name in bold."""
    if asked is None:
        return None
    if (
        asked.kind == "describe"
        and asked.mentions
        and (one := asked.mentions[0]).count("*") == 1
        and "*" in (one[0], one[-1])
    ):
        asked = Asked("search", text=one, what=asked.what)  # "port* classes"
    mentions = tuple(name.strip("*") or name for name in asked.mentions)
    text = (
        asked.text.strip("*")
        .removeprefix("^")
        .removesuffix("$")
        .removeprefix(".*")
        .removesuffix(".*")
    )
    where, raw = asked.where, asked.text.replace(".*", "*")
    if text and text != asked.text:
        starts = raw.startswith("^") or (raw.endswith("*") and raw[0] != "*")
        ends = raw.endswith("$") or (raw.startswith("*") and raw[-1] != "*")
        where = "contains" if starts == ends else "starts" if starts else "ends"
    return replace(asked, mentions=mentions, text=text or asked.text, where=where)


def _understood_text(text: str, names: tuple[str, ...]) -> Asked | None:
    found = typed(text, names) or framed(text, names) or _by_rules(text, names)
    if found is None and _ENDS.search(text) and not STEERING.search(text):
        # of several sentences, the one that is a question; the others must not take anything away
        # from it
        parts = [(part, framed(part, names)) for part in _ENDS.split(text)]
        understood = [asked for _, asked in parts if asked]
        others = [part for part, asked in parts if not asked]
        found = (
            understood[0] if len(understood) == 1 and not any(map(_LIMITS.search, others)) else None
        )
    return found or guessed(text, names)


def _by_rules(text: str, names: tuple[str, ...]) -> Asked | None:
    ready = prepare(text, names)
    if ready is None:
        return None
    return next((found for way in ready.texts if (found := _understood(way, ready))), None)


def _understood(text: str, ready: Prepared) -> Asked | None:
    if match := COUNT.match(text):
        return _counted(text[match.end() :], match[0], ready)
    words = Words(text)
    if _YES_NO.match(text):
        return _yes_no(text, words, ready)
    lead = LEAD.match(text)
    body = text[lead.end() :] if lead else text
    if found := _everything_of(body) if lead else None:
        return found
    before = text[: len(text) - len(body)]
    indirect = re.sub(r" (?:is|are)$", "", body) if lead else body  # "what the subclasses of X are"
    ways = dict.fromkeys(
        ((THERE.sub("", body), before), (body, before), (text, ""), (indirect, before))
    )
    for group in _LISTED:
        for way, said in ways:
            if found := _first(group, way, said, words, ready):
                return found
    return (
        (_plural_alone(body, lead[0], ready) if lead else None)
        or _first(IS_SUBCLASS, text, "", words, ready)
        or _first(DESCRIBE, text, "", words, ready)
        or _first(DESCRIBE, body, "", words, ready)
        or _bare(text, body, ready)
    )


def _first(
    group: tuple[Rule, ...], text: str, lead: str, words: Words, ready: Prepared
) -> Asked | None:
    """What the first rule of a group that fits makes of a text."""
    if not words.any_of(GATES.get(id(group), ())):
        return None
    for rule in group:
        match = pattern(rule.form).fullmatch(text) if words.fit(rule.form) else None
        if match and (found := _made(rule, match, lead, ready)):
            return found
    return None


def _made(rule: Rule, match: re.Match[str], lead: str, ready: Prepared) -> Asked | None:
    """The question that a rule and its match come to; None when what stands in a place of a name is
    none."""
    groups = match.groupdict()
    mentions: list[str] = []
    what = rule.what
    if rule.kind == "search":
        text = text_in(groups["x"], ready.names)
        return (
            Asked("search", text=text, where=rule.where or "contains", what=_noun(groups))
            if text
            else None
        )
    for place in ("x", "y"):
        if piece := groups.get(place):
            cleaned = name_in(
                piece, ready.names, rule.kind == "describe" and rule.what == "property"
            )
            if cleaned is None:
                return None
            mentions.append(cleaned[0])
            what = what or cleaned[1]
    frame = lead + _around(match)
    kind = rule.kind
    if kind in ("subclasses", "superclasses"):
        kind = f"all_{kind}" if ready.deep or ready.inherited or everything(frame, kind) else kind
        return Asked(kind, tuple(mentions), what=what)
    if kind in ("namespaces", "roots"):
        return Asked(kind, tuple(mentions))
    if kind == "is_subclass":
        pair = tuple(reversed(mentions)) if rule.flip else tuple(mentions)
        direct = re.search(r"\b(?:direct|directly|immediate)\b", frame, re.I) and not ready.deep
        return Asked(kind, pair, of=rule.where or ("direct" if direct else ""), what=what)
    if kind == "exists":
        what = _noun(groups) or what
    inherited = kind in ("properties_by_domain", "properties_by_range", "instances") and (
        ready.inherited or ready.deep or re.search(r"\binherit", frame, re.I) is not None
    )
    of = rule.where if kind == "describe" else ""
    return Asked(kind, tuple(mentions), of, what=what, inherited=inherited)


def _around(match: re.Match[str]) -> str:
    """What a match has besides the names."""
    text, cuts = (
        match.string,
        sorted(match.span(place) for place in ("x", "y") if match.groupdict().get(place)),
    )
    for start, end in reversed(cuts):
        text = f"{text[:start]} … {text[end:]}"
    return text


def _noun(groups: dict[str, str]) -> str:
    """The kind of term that the noun of a match stands for."""
    word = next((groups[place] for place in ("n", "n1", "n2") if groups.get(place)), "")
    return next((what for stems, what in _NOUNS if re.search(stems, word, re.I)), "")


def _counted(body: str, lead: str, ready: Prepared) -> Asked | None:
    cut = THERE.sub("", body)
    for form, of, _ in TOTALS:
        if re.fullmatch(rf"(?:(?:all|the|different|distinct) )*{form}", cut, re.I):
            return Asked("count", of=of)
    words = Words(body)
    for text in dict.fromkeys((body, cut)):
        for group in _LISTED:
            found = _first(group, text, "", words, ready)
            if found and found.kind in COUNTED:
                return Asked(
                    "count",
                    found.mentions,
                    found.kind,
                    found.text,
                    found.where,
                    found.what,
                    found.inherited,
                )
    found = _plural_alone(body, lead, ready)
    return Asked("count", found.mentions, "instances", inherited=found.inherited) if found else None


def _everything_of(body: str) -> Asked | None:
    """All classes, all properties: a search for any name."""
    cut = re.sub(r" (?:is|are)$", "", THERE.sub("", body))  # "which classes are" in the graph
    for form, _, what in TOTALS:
        if what and re.fullmatch(form, cut, re.I):
            return Asked("search", what=what)
    return None


def _yes_no(text: str, words: Words, ready: Prepared) -> Asked | None:
    """Questions for yes or no. "Are there any subclasses of X?" is answered by listing them."""
    there = re.match(r"(?:is|are) there (?:(?:an?y?|some|also|really) )*", text, re.I)
    if there is None:
        groups = (PATH, NAMED, SEARCH, HAS_ANY, EXISTS, IS_SUBCLASS, BY_DOMAIN, BY_RANGE)
        return next(
            (found for group in groups if (found := _first(group, text, "", words, ready))), None
        )
    body = text[there.end() :]
    groups = (ROOTS, SUPERCLASSES, SUBCLASSES, BY_RANGE, BY_DOMAIN, INSTANCES, NAMED, SEARCH)
    return (
        _first(PATH, text, "", words, ready)
        or _first(EXISTS[:1], text, "", words, ready)
        or next(
            (found for group in groups if (found := _first(group, body, "", words, ready))), None
        )
        or _first(EXISTS, text, "", words, ready)
    )


def _plural_alone(body: str, lead: str, ready: Prepared) -> Asked | None:
    """ "Which vessels are there?" and "List all vessels": the instances of a class that is named in
    the plural."""
    cut = THERE.sub("", body)
    cleaned = name_in(cut, ready.names)
    if cleaned is None or not re.search(r"\w", cut):
        return None
    name, what = cleaned
    joined = re.search(r"\b(?:to|with|that|which|by|for|about|and|or)\b", cut) and not looks_named(
        cut
    )
    if (
        what == "property"
        or joined
        or of_vocabulary(cut)
        or re.search(r" (?:classes|properties|individuals|relations|concepts)$", cut)
        or re.match(r"(?:what|who)(?:['’]s)?\s+is\b", lead, re.I)
    ):
        return None
    plain = re.match(
        r"(?:what|who)(?:['’]re)?\s+are\s+(?!all|the)", lead, re.I
    )  # "What are vessels?" asks what they are
    plural = PLURAL.search(name) or (cut[0] == OPEN and cut != body)
    return (
        Asked("instances", (name,), inherited=ready.inherited)
        if plural and (cut != body or not plain)
        else None
    )


def _bare(text: str, body: str, ready: Prepared) -> Asked | None:
    """A name alone, or with a verb that says only "show": describe it."""
    for piece in dict.fromkeys((text, body)):
        cleaned = name_in(piece, ready.names)
        alone = piece[0] == OPEN or ":" in piece if piece is text else True
        if (
            cleaned
            and alone
            and (piece[0] == OPEN or all(looks_named(word) for word in cleaned[0].split()))
        ):
            return Asked("describe", (cleaned[0],), what=cleaned[1])
    return None
