"""Plots as SVG, drawn by hand: no script, no picture, colours from the page's style sheet so that
dark pages work.

Every arm has a colour and a shape of its own, for those who see no colours. Across, all places are
shares of the width, so that a plot fits a telephone as well as a desk and its letters stay as large
as those around them.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Sequence

from rlm.evaluate.report import Evaluation, Summary
from rlm.evaluate.stats import mean

LEFT, RIGHT = 4.0, 84.0
"""Where the axis begins and ends, in per cent of the width; the numbers stand right of it."""
FOOT = 42
"""Room for the ticks and the name of the axis."""
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff]"
)


def safe(text: object, most: int | None = None) -> str:
    """Any text as inert HTML; what could reorder or hide text becomes U+FFFD."""
    shown = _UNSAFE.sub("\ufffd", str(text))
    if most is not None and len(shown) > most:
        shown = shown[: most - 1] + "…"
    return html.escape(shown, quote=True)


def percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def marker(place: int, x: float, y: float, size: float = 5.0) -> str:
    """The shape of the arm at this place: a disc, a square, a diamond, a triangle."""
    name = f'class="a{place % 4}"'
    if place % 4 == 0:
        return f'<circle {name} cx="{x:.1f}" cy="{y:.1f}" r="{size:.1f}"/>'
    if place % 4 == 1:
        side = 1.8 * size
        return (
            f'<rect {name} x="{x - side / 2:.1f}" y="{y - side / 2:.1f}" width="{side:.1f}"'
            f' height="{side:.1f}"/>'
        )
    corners = [(x, y - 1.3 * size), (x + 1.3 * size, y), (x, y + 1.3 * size), (x - 1.3 * size, y)]
    if place % 4 == 3:
        corners = [(x, y - 1.2 * size), (x + 1.2 * size, y + size), (x - 1.2 * size, y + size)]
    return f'<polygon {name} points="{" ".join(f"{a:.1f},{b:.1f}" for a, b in corners)}"/>'


def success_plot(names: Sequence[str], summaries: Sequence[Summary]) -> str:
    """The success rate of every arm with its interval."""
    row, top = 44, 4
    bottom = top + row * len(names)
    parts = [
        _axis(
            [(share / 4, percent(share / 4)) for share in range(5)],
            1.0,
            top,
            bottom,
            "tasks answered right",
        )
    ]
    for place, (name, each) in enumerate(zip(names, summaries, strict=True)):
        y = top + row * place + 28
        low, high = each.success_interval
        caption = (
            f"{name}: {percent(each.success)}, 95 % interval {percent(low)} to {percent(high)}"
        )
        parts += [
            _label(name, y - 14),
            (
                f'<line class="whisker a{place % 4}" x1="{_x(low, 1.0)}" x2="{_x(high, 1.0)}"'
                f' y1="{y}" y2="{y}"/>'
            ),
            *(_stroke("end", place, end, 1.0, y) for end in (low, high)),
            _mark(place, each.success, 1.0, y, 7, caption),
            _value(percent(each.success), y),
        ]
    caption = "; ".join(
        f"{name} {percent(each.success)}" for name, each in zip(names, summaries, strict=True)
    )
    return _svg(bottom + FOOT, f"Success rate by arm, with 95 % intervals: {caption}", parts)


def steps_plot(made: Evaluation, names: Sequence[str]) -> str:
    """The steps of all runs, by kind and arm: a mark for each number, larger for more runs."""
    lane, head, gap, top = 15, 17, 12, 4
    most = max((run.steps for run in made.runs), default=1) or 1
    parts = []
    y = float(top)
    for kind in made.kinds:
        parts.append(_label(kind, y + 12))
        y += head
        for place, arm in enumerate(made.arms):
            middle, steps = y + lane * (place + 0.5), [run.steps for run in made.of(arm, kind)]
            parts += _lane(place, middle, steps, most, f"{kind}, {names[place]}")
        y += lane * len(made.arms) + gap
    ticks = range(0, most + 1, -(-most // 8))
    axis = _axis(
        [(float(tick), str(tick)) for tick in ticks],
        float(most),
        top,
        y - gap / 2,
        "steps of a run",
    )
    return _svg(
        y - gap / 2 + FOOT, "Steps of every run, by kind of question and arm", [axis, *parts]
    )


def _lane(place: int, y: float, steps: Sequence[int], most: int, what: str) -> list[str]:
    """The runs of one kind under one arm: their range, a mark for each number, their mean."""
    if not steps:
        return []
    low, high = _x(min(steps), most), _x(max(steps), most)
    parts = [
        f'<line class="range a{place % 4}" x1="{low}" x2="{high}" y1="{y}" y2="{y}"/>',
        _stroke("mean", place, mean(steps), most, y),
        _value(f"{mean(steps):.1f}", y),
    ]
    for count, many in sorted(Counter(steps).items()):
        size = min(3 + 0.9 * (many - 1), 6.5)
        parts.append(_mark(place, count, most, y, size, f"{what}: {many} × {count} steps"))
    return parts


def legend(names: Sequence[str]) -> str:
    """Which mark is which arm, as HTML that wraps."""
    marks = (
        f'<svg viewBox="0 0 14 14" aria-hidden="true">{marker(place, 7, 7)}</svg>'
        for place in range(len(names))
    )
    shown = (
        f"<span>{mark} {safe(name, 24)}</span>" for mark, name in zip(marks, names, strict=True)
    )
    return f'<p class="legend">{" ".join(shown)}</p>'


def _x(value: float, most: float) -> str:
    return f"{LEFT + (RIGHT - LEFT) * value / most:.2f}%"


def _mark(place: int, value: float, most: float, y: float, size: float, caption: str) -> str:
    shape = f"<g>{marker(place, 0, 0, size)}<title>{safe(caption)}</title></g>"
    return f'<svg x="{_x(value, most)}" y="{y}" overflow="visible">{shape}</svg>'


def _stroke(name: str, place: int, value: float, most: float, y: float) -> str:
    x = _x(value, most)
    return f'<line class="{name} a{place % 4}" x1="{x}" x2="{x}" y1="{y - 6}" y2="{y + 6}"/>'


def _label(text: str, y: float) -> str:
    return f'<text x="0" y="{y:.1f}">{safe(text, 40)}</text>'


def _value(text: str, y: float) -> str:
    return f'<text class="value" text-anchor="end" x="100%" y="{y + 4}">{text}</text>'


def _axis(
    ticks: Sequence[tuple[float, str]], most: float, top: float, bottom: float, title: str
) -> str:
    lines = "".join(
        f'<line class="grid" x1="{_x(value, most)}" x2="{_x(value, most)}" y1="{top}"'
        f' y2="{bottom:.1f}"/><text class="tick" text-anchor="middle" x="{_x(value, most)}"'
        f' y="{bottom + 16:.1f}">{safe(text)}</text>'
        for value, text in ticks
    )
    middle = f"{(LEFT + RIGHT) / 2:.0f}%"
    return (
        f'{lines}<text class="tick" text-anchor="middle" x="{middle}"'
        f' y="{bottom + 34:.1f}">{safe(title)}</text>'
    )


def _svg(height: float, caption: str, parts: Sequence[str]) -> str:
    return (
        f'<svg class="plot" width="100%" height="{height:.0f}" role="img"'
        f' aria-label="{safe(caption)}" xmlns="http://www.w3.org/2000/svg">{"".join(parts)}</svg>'
    )
