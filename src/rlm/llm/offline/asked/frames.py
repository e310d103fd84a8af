"""Plain questions, understood word by word and without patterns: quick, and strict.

Every word must be known (`words`) or belong to a name. The words come to a few letters, and the
letters to a kind: "Which classes have 'Tug' as a parent?" is `cHXAp`. Whatever is not in the table
is left to the rules.
"""

from __future__ import annotations

import itertools
import re

from rlm.llm.offline.asked.kinds import CLOSE, MAX_LEFT, NO_NAMES, OPEN, Asked, Lazy
from rlm.llm.offline.asked.short import short
from rlm.llm.offline.asked.tokens import Read, read_words, without_scopes, words_of

# -- The frames of plain questions: which letters (`words`) come to which kind of question.
#
# A frame is written with "?" after a letter that may be missing and brackets around letters of
# which one stands there. X is a name.


_FRAMES: dict[str, str] = {
    "subclasses": "Xks sX Xs XAp XAI wpX wIX wXAp smX iX vX UX kX XI Xg ksX skX Xk sAX",
    "subclasses deep": "SX XS bX wPX XAP sbX SbX wbX",
    "superclasses": (
        """
        XTAi pX Xp pmX pXT pXm IX gX Xi XU Xv wsX wiX XAs XAi Xb bcX bpX pXv pXb pXi kXi kXv wXAs
    """
    ),
    "superclasses deep": "PX XP aX wSX XAS paX waX",
    "properties_by_domain": (
        """
        r?dX rDX wDX rwDX rXd Xdr r?XAd r?wdX rmX Xr rXB rXAB rwBX rBX rXAB rmnX Xmr rXm Xrm rwXAd rfXAB rTX
        XAdr XyAd XDr rnX dXr
    """
    ),
    "properties_by_range": (
        """
        r?eX rEX wEX rwEX rXe Xer r?XAe r?weX rfX rXO rXAO rXAf rOX rwOX wOX rfOX rfXAO rOTX rwOTX rfOTX rfnX r>X rXf
        rnXAO rO>X rwOnX rOnX Xfr rfTX rwXAe rXfO rfXO rOTXAO rOXAO XAer XyAe rtTXO rTXO frX XEr fXr frOX eXr
    """
    ),
    "instances": "TX nX Xn nTX tTX ntX ncX tnX nnX nTnX nuX uX nmX tmX cXn wTX twTX nwTX Xtn",
    "namespaces": "zNX LNX NX XN NXz NLX XNz NXN XzN NXL NzX",
    "roots": "o0a co0a o co oc to oco 0Uq w0Uq 0p o0 0U w0U v0 w0p 0Ap w0Ap 0wp 0I 0wI 0i",
    "properties_by_domain ": "GX rGX GnX rGnX mX",
    "describe": "zX zzX Xz zXz Xzz zzzX wzX",
    "describe property": "DX EX dEX eDX zDX zEX DEX EDX",
    "search": (
        """
        [crnt]?w?[Lz]MX [crnt]w?X[Lz] [crnt]?XyL? [crnt]?wXyL? [crnt]MXL? [crnt]w?[Lz]wMX LwX rLMX cLMX LXwL tl>?X
    """
    ),
    "search starts": "[crnt]?w?[Lz]1X [crnt]1X [crnt]w?X1L?",
    "search ends": "[crnt]?w?[Lz]2X [crnt]2X [crnt]w?X2L?",
}
_TWO: dict[str, str] = {
    "path": (
        """
        h?hXX h?h<X>X XXl Xl>X XlX l?lXX lX>X hX>X XhX XXh rXXl rlXX rlX>X rhXX rhX>X rh<X>X hlXX hlX>X hl<X>X
        lh<X>X lhXX rX>X Xh>X Xl<X rXlX rXl>X r<X>X hrXX hr<X>X XXrl Xr>X hXlX hXl>X hfX hf<X>X <X>Xh
        X>Xh mXfX mXf>X hXXl rXXh XrhX hmXfX h1X2X
        Xrl>X rlhXX
    """
    ),
    "is_subclass": "XiX XsX XvX XUX XbX XwXAp XXAp XXAI XXAP XSX XkX XTX XXp XXP XAiX",
    "flipped": "XMXAi XMXAs XMXAS XXs XXS XIX XpX XgX XaX XXAs XXAi XXAS XPX",
}
TOTALS: dict[str, str] = {
    "c": "classes",
    "r": "properties",
    "j": "object_properties",
    "J": "datatype_properties",
    "K": "annotation_properties",
    "n": "individuals",
    "q": "triples",
    "N": "namespaces",
    "o": "roots",
    "0p": "roots",
    "w0p": "roots",
    "rhc": "object_properties",
}
"""What is counted when no name is there."""


def _spelled(frame: str) -> list[str]:
    """All the ways that a frame can be spelled."""
    choices = []
    for one in re.findall(r"\[\w+\]\??|.\??", frame):
        letters = list(one.rstrip("?").strip("[]"))
        choices.append([*letters, ""] if one.endswith("?") else letters)
    return ["".join(letters) for letters in itertools.product(*choices)]


LISTED: dict[str, str] = {
    way: kind
    for kind, frames in _FRAMES.items()
    for frame in frames.split()
    for way in _spelled(frame)
}
WITH_TWO: dict[str, str] = {
    way: kind
    for kind, frames in _TWO.items()
    for frame in frames.split()
    for way in _spelled(frame)
}


_WANTED = {"c": "class", "r": "property", "n": "individual"}
_CALLED = ("called", "named", "with the name")
_PIECES = frozenset(
    ("word", "string", "text", "substring", "letters", "pattern", "fragment", "piece", "sequence")
)
_ANY = frozenset(("X", "cX", "rX", "tX", "nX", "wX", "LX", "cMX", "tMX", "rMX", "nMX"))
_BUILT_IN = {
    "owl:Class": "classes",
    "owl:ObjectProperty": "object_properties",
    "owl:NamedIndividual": "individuals",
}
_WITH_NAMESPACES = frozenset("NLztcr>wA<HMyT")
_BESIDE = frozenset(("with", "like", "having", "about", "around", "by"))
_SAME = str.maketrans("jJK", "rrr")
_PUNCTUATION = frozenset(f" '’.,:;?!()/-_{OPEN}{CLOSE}")
_ASIDE = frozenset("X._;,<>HQA'mh")
_WANTS = Lazy(
    r"(?:\w+ ){1,4}(?:wants?|needs?|would like|wishes|asked|asks|has been asked|have been asked|has"
    r" to|have to|must)"
    r"(?: me| us)?(?: to (?:know|see|have|get|find|list|compile|collect|find out|learn|report))?(?:"
    r" for| about)? "
    r"(?=the |which |what |how |all |every )",
    re.I,
)
_MINE = frozenset(("my", "our", "your"))
_USED = frozenset(("use", "uses", "using", "used"))
_STOPS = (". ", "? ", "! ", "; ")


def framed(text: str, names: tuple[str, ...]) -> Asked | None:
    """What a plain question asks for, its names hidden; None when a word of it is not known, or the
    frame is not."""
    text = text.replace("(es)", "").replace("(s)", "").replace(", i.e.", ",").strip(" ?!.,;:-–•*")
    if not text or len(text) > MAX_LEFT or text.isupper() or any(stop in text for stop in _STOPS):
        return None
    if not all(c.isalnum() or c in _PUNCTUATION for c in text):
        return None
    words = words_of(text)
    if words is None:
        return None
    bare = without_scopes(words)
    read = read_words(bare, names)
    return (_asked(read) if read else None) or short(bare, names, scoped=len(bare) < len(words))


def guessed(text: str, names: tuple[str, ...]) -> Asked | None:
    """What a question asks for when words that are not known come before it, in a clause of their
    own.

    "Before lunch, show me the ancestors of Tug", "My boss wants to know the superclasses of Tug".
    Unknown words at other places are no safe guess: "Who invented the subclasses of Tug?".
    """
    if wants := _WANTS.match(text):
        return framed(text[wants.end() :], names)
    before, comma, after = text.partition(", ") if ", " in text else text.partition(": ")
    said = words_of(before) if comma else None
    if (
        not said
        or len(said) > 8
        or any(word.letter not in _ASIDE or word.text in NO_NAMES - _MINE for word in said)
    ):
        return None
    if any(word.letter == "X" and word.sure for word in said) or said[0].text.lower() in NO_NAMES:
        return None
    return framed(after, names)


def _asked(read: Read) -> Asked | None:
    """The question that the letters come to."""
    codes = read.codes
    counted, yes_no = codes.count("#") == 1, codes.startswith("Y") or read.right
    codes = codes.lstrip("Q").replace("#", "") if counted else codes
    codes = codes if codes == "QX" else codes.lstrip("#YQ")
    mentions = tuple(read.names)
    total = TOTALS.get(codes.rstrip("HM"), "") if counted and not mentions else ""
    if total:
        return Asked("count", of=total) if read.levels <= {"!"} else None
    codes = _simpler(codes.replace("XQ", "X"))
    if "#" in codes or "Q" in codes[1:] or len(mentions) > 2:
        return None
    if (
        not mentions
        and "N" in codes
        and set(codes) <= _WITH_NAMESPACES
        and not (read.noun and read.lead == "what is")
    ):
        return Asked("count", of="namespaces") if counted else Asked("namespaces")
    if (
        codes in ("cX", "rX", "nX", "tX")
        and read.searched
        and read.before[0] in ("for", "by", "with")
    ):
        return Asked("search", text=mentions[0], what=_wanted(codes))
    if codes.startswith("F") and codes != "FX":
        codes = codes[1:]
    if not mentions:
        return _alone(codes, read, counted, yes_no)
    if len(mentions) == 2:
        return None if counted else _two(codes, read, yes_no)
    if codes == "QX" and read.before[0] in ("in", "inside", "within", "on"):
        return None  # "What is in Vessel?"
    if codes == "QX":
        return (
            Asked("describe", mentions, what=read.what)
            if read.lead not in ("what are", "who are")
            else None
        )
    if "R" in codes:
        codes = codes.replace("R", "").replace("c", "")
        read.levels.add("!")
        codes = f"P{codes}" if codes == "X" else codes
    kind = LISTED.get(codes, "") or (
        LISTED.get(codes.replace("w", ""), "") if codes[:1] == "r" else ""
    )
    if codes == "TX" and read.before[0] in ("type", "is", "does", "do", "has", "have"):
        kind = ""  # "What type is Berlin?"
    if codes in ("Xd", "Xe") and read.owned and not yes_no:
        kind = "describe property"
    if codes == "Xz" and read.after == "in":
        kind = ""  # "Find 'port' in comments"
    if (codes in ("nX", "tmX", "nmX") and read.before[0].split(" ")[0] in _USED) or (
        codes == "pXT" and read.owned
    ):
        kind = ""  # "Which individuals use hasPart?", "the superclasses of Tug's type"
    if codes == "rX":
        kind = "properties_by_domain" if read.before[0] in ("of", "for", "on") or read.has else ""
    if codes == "FX" or (codes == "MX" and read.before[0].startswith("mention")):
        kind = "search"
    if codes in _ANY and (
        read.before[0].split(" ")[-1] in _PIECES
        or (read.quoted and (read.before[0] in _BESIDE or "*" in mentions[0]))
    ):  # "classes with the substring 'gen'"
        kind = "search"
    elif (
        codes == "hX"
        and len(parts := mentions[0].split(" ")) == 2
        and read.sure
        and read.before[0] not in ("of", "for")
    ):
        return Asked("path", (parts[0], parts[1]), what=read.what)
    if yes_no and (
        kind.startswith("describe") or (codes in ("Xr", "Xn", "Xs", "Xp", "uX") and not read.has)
    ):
        kind = ""
    if (codes == "NX" and read.before[0] not in ("prefix", "namespace")) or (
        "u" in codes and read.before[0] in _CALLED
    ):
        kind = ""
    if (kind == "describe" and "!" in read.levels) or (
        kind == "describe property" and not read.sure
    ):
        kind = ""
    if codes == "X" and counted:
        of = _BUILT_IN.get(mentions[0], "")
        return Asked("count", of=of) if of else _plural(read, counted)
    if (
        codes == "X"
        and read.what == "individual"
        and read.levels == {"!"}
        and not yes_no
        and not counted
    ):
        return Asked("instances", mentions)  # "every Wine individual"
    if codes == "X" and not yes_no and (read.requested or read.sure) and read.levels == {"!"}:
        return _plural(read, counted)
    return _one(kind, codes, read, counted) if kind else None


def _alone(codes: str, read: Read, counted: bool, yes_no: bool) -> Asked | None:
    """A question without a name: about the roots, or what a word such as "subclass" means."""
    if read.lead == "what is" and read.noun and len(codes) == 1 and not read.levels:
        return Asked("describe", (read.noun,))
    kind = LISTED.get(codes, "")
    return _one(kind, codes, read, counted) if kind and not (yes_no and counted) else None


def _plural(read: Read, counted: bool) -> Asked | None:
    """ "List all vessels", "How many vessels": the instances of what is named in the plural."""
    name = read.names[0]
    if not re.search(r"[^siu]s$", name) or read.levels - {"!"} or read.what:
        return None
    return Asked("count", (name,), of="instances") if counted else Asked("instances", (name,))


def _simpler(codes: str) -> str:
    """The letters without those that change nothing beside the others."""
    codes = re.sub(r"([^X])\1+", r"\1", codes.translate(_SAME))
    before, name, after = codes.partition("X")
    before = re.sub("H(?=[spSPiIdeDEBOLzMTb0])", "w", before).replace("H", "")
    if any(one in codes for one in "M12LyF"):
        before = re.sub("[crn]{2,}", "t", before)
    codes = (
        before + name + after.replace("H", "").rstrip("M" if after[:1] != "X" else "")
    ).replace("ww", "w")
    if "N" in codes:
        codes = codes.replace(">", "").replace("NN", "N")
    if any(one in codes for one in "sSpPUvgiIkba"):
        codes = re.sub("(?<![ab])[ct]", "", codes)
    if ("b" in codes and codes.count("X") == 2) or codes.count("X") == 1:
        codes = codes.replace("<", "")
    if codes.count("X") == 1 and any(one in codes for one in "sSpPki"):
        codes = codes.replace(">", "")
    return codes


def _one(kind: str, codes: str, read: Read, counted: bool) -> Asked | None:
    """A question of a kind about one name at the most, with its levels."""
    kind, _, more = kind.partition(" ")
    mentions = tuple(read.names)
    if read.dangling and kind in ("subclasses", "superclasses") and codes in ("Xs", "Xp"):
        kind = "superclasses" if kind == "subclasses" else "subclasses"
    deep = "!" in read.levels or "^" in read.levels or more == "deep"
    direct = "'" in read.levels
    what, inherited, text, where = read.what, False, "", "contains"
    if kind in ("subclasses", "superclasses"):
        kind = f"all_{kind}" if deep and not direct else kind
    elif kind in ("instances", "properties_by_domain", "properties_by_range"):
        inherited = "^" in read.levels
    elif kind == "search":
        if read.prose:
            return None
        text, where, mentions, what = mentions[0], more or "contains", (), _wanted(codes)
    elif kind == "describe":
        if direct or counted:
            return None
        what = more or what
    if counted:
        return (
            None
            if kind == "exists"
            else Asked("count", mentions, kind, text, where, what, inherited)
        )
    return Asked(kind, mentions, text=text, where=where, what=what, inherited=inherited)


def _wanted(codes: str) -> str:
    """The kind of term that a search is for."""
    return next((_WANTED[letter] for letter in codes if letter in _WANTED), "")


def _two(codes: str, read: Read, yes_no: bool) -> Asked | None:
    """A question about two names: a path, or whether one is below the other."""
    one, other = read.names
    codes = codes.lstrip("z")
    if ">X<X" in codes:  # "get to Y from X"
        codes, one, other = codes.replace(">X<X", "<X>X"), other, one
    kind = WITH_TWO.get(codes, "")
    if kind == "path":
        return Asked("path", (one, other), what=read.what)
    if codes == "XX":  # "Is Tug a Vessel?"
        kind = (
            "is_subclass"
            if yes_no and read.before[1] in ("a", "an") and "H" not in read.codes
            else ""
        )
    if codes in ("XsX", "XkX", "XSX", "XpX", "XPX") and read.verb in ("do", "does", "did"):
        return None
    if (
        kind
        and not yes_no
        and (
            read.plural
            or not (read.sure or (one[0].isupper() and codes in ("XsX", "XiX", "XUX", "XvX")))
        )
    ):
        kind = ""
    if not kind or ("!" in read.levels and "'" in read.levels):
        return None
    pair = (other, one) if kind == "flipped" else (one, other)
    return Asked("is_subclass", pair, of="direct" if "'" in read.levels else "", what=read.what)
