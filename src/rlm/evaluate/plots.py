"""Plots as SVG, drawn by hand: no script, no picture, colours from the page's style sheet so that dark pages work.

Every arm has a colour and a shape of its own, for those who see no colours.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Sequence

from rlm.evaluate.report import Evaluation, Summary
from rlm.evaluate.stats import mean

WIDTH = 720
LEFT = 172
RIGHT = 96
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff]"
)


def safe(text: object, most: int | None = None) -> str:
    """Any text as HTML that shows it and does nothing else; what could reorder or hide text becomes U+FFFD."""
    shown = _UNSAFE.sub("\ufffd", str(text))
    if most is not None and len(shown) > most:
        shown = shown[: most - 1] + "…"
    return html.escape(shown, quote=True)


def percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def marker(place: int, x: float, y: float, size: float = 5.0) -> str:
    """The shape of the arm at this place: a disc, a square, a diamond."""
    name = f'class="a{place % 3}"'
    if place % 3 == 0:
        return f'<circle {name} cx="{x:.1f}" cy="{y:.1f}" r="{size:.1f}"/>'
    if place % 3 == 1:
        side = 1.8 * size
        return f'<rect {name} x="{x - side / 2:.1f}" y="{y - side / 2:.1f}" width="{side:.1f}" height="{side:.1f}"/>'
    corners = [(x, y - 1.3 * size), (x + 1.3 * size, y), (x, y + 1.3 * size), (x - 1.3 * size, y)]
    return f'<polygon {name} points="{" ".join(f"{a:.1f},{b:.1f}" for a, b in corners)}"/>'


def success_plot(names: Sequence[str], summaries: Sequence[Summary]) -> str:
    """The success rate of every arm with its interval."""
    row, top = 40, 8
    bottom = top + row * len(names)
    parts = [_axis([(share / 4, percent(share / 4)) for share in range(5)], 1.0, top, bottom)]
    for place, (name, each) in enumerate(zip(names, summaries, strict=True)):
        y = top + row * (place + 0.5)
        (low, high), x = each.success_interval, _x(each.success, 1.0)
        parts += [
            _label(name, y),
            f'<line class="whisker a{place % 3}" x1="{_x(low, 1.0):.1f}" x2="{_x(high, 1.0):.1f}" y1="{y}" y2="{y}"/>',
            f"<g>{marker(place, x, y, 7)}<title>{safe(name)}: {percent(each.success)}, "
            f"95 % interval {percent(low)} to {percent(high)}</title></g>",
            f'<text class="value" x="{WIDTH - RIGHT + 20}" y="{y + 4}">{percent(each.success)}</text>',
        ]
    told = "; ".join(f"{name} {percent(each.success)}" for name, each in zip(names, summaries, strict=True))
    return _svg(bottom + 24, f"Success rate by arm, with 95 % intervals: {told}", parts)


def steps_plot(made: Evaluation, names: Sequence[str]) -> str:
    """How many steps the runs took, by kind and arm: a mark for each number, larger where there are more runs."""
    lane, gap, top = 15, 12, 30
    most = max((run.steps for run in made.runs), default=1) or 1
    parts = [_legend(names)]
    y = float(top)
    for kind in made.kinds:
        parts.append(_label(kind, y + lane * len(made.arms) / 2))
        for place, arm in enumerate(made.arms):
            middle, steps = y + lane * (place + 0.5), [run.steps for run in made.of(arm, kind)]
            parts += _lane(place, middle, steps, most, f"{kind}, {names[place]}")
        y += lane * len(made.arms) + gap
    ticks = range(0, most + 1, -(-most // 8))
    axis = _axis([(float(tick), str(tick)) for tick in ticks], float(most), top, y - gap / 2)
    return _svg(y + 18, "Steps of every run, by kind of question and arm", [axis, *parts])


def _lane(place: int, y: float, steps: Sequence[int], most: int, what: str) -> list[str]:
    """The runs of one kind under one arm: from the fewest steps to the most, a mark for each number, their mean."""
    if not steps:
        return []
    low, high, middle = (_x(value, most) for value in (min(steps), max(steps), mean(steps)))
    style = f"a{place % 3}"
    parts = [
        f'<line class="range {style}" x1="{low:.1f}" x2="{high:.1f}" y1="{y}" y2="{y}"/>',
        f'<line class="mean {style}" x1="{middle:.1f}" x2="{middle:.1f}" y1="{y - 6}" y2="{y + 6}"/>',
        f'<text class="value" x="{WIDTH - RIGHT + 20}" y="{y + 4}">{mean(steps):.1f}</text>',
    ]
    for count, many in sorted(Counter(steps).items()):
        size = min(3 + 0.9 * (many - 1), 6.5)
        told = f"{safe(what)}: {many} × {count} steps"
        parts.append(f"<g>{marker(place, _x(count, most), y, size)}<title>{told}</title></g>")
    return parts


def _legend(names: Sequence[str]) -> str:
    parts, x = [], float(LEFT)
    for place, name in enumerate(names):
        parts.append(f'{marker(place, x + 6, 10)}<text x="{x + 18:.0f}" y="14">{safe(name, 24)}</text>')
        x += 40 + 8 * min(len(name), 24)
    return "".join(parts)


def _x(value: float, most: float) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * value / most


def _label(text: str, y: float) -> str:
    return f'<text class="name" text-anchor="end" x="{LEFT - 12}" y="{y + 4:.1f}">{safe(text, 24)}</text>'


def _axis(ticks: Sequence[tuple[float, str]], most: float, top: float, bottom: float) -> str:
    return "".join(
        f'<line class="grid" x1="{_x(value, most):.1f}" x2="{_x(value, most):.1f}" y1="{top}" y2="{bottom:.1f}"/>'
        f'<text class="tick" text-anchor="middle" x="{_x(value, most):.1f}" y="{bottom + 16:.1f}">{safe(text)}</text>'
        for value, text in ticks
    )


def _svg(height: float, told: str, parts: Sequence[str]) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="{safe(told)}" '
        f'xmlns="http://www.w3.org/2000/svg">{"".join(parts)}</svg>'
    )
