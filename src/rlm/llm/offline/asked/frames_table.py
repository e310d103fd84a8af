"""The frames of plain questions: which letters (`words`) come to which kind of question.

A frame is written with "?" after a letter that may be missing and brackets around letters of which
one stands there. X is a name.
"""

from __future__ import annotations

import itertools
import re

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
