"""One page about an evaluation: self-contained, without scripts, for light and dark screens and for
paper.

Task texts come from other people: every text is escaped, and the page forbids itself to load or run
anything.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from rlm.evaluate.report import ArmDifference, Evaluation, Measured, MemoryEffect, Summary
from rlm.evaluate.stats import Interval, mean

ARM_NAMES = {
    "off": "memory off",
    "packs": "shipped packs",
    "trained": "trained",
    "on": "your own store",
}
QUESTION_CHARS = 160
REASON_CHARS = 240
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
STYLE_SHEET = Path(__file__).with_name("page.css")

INTERVALS = (
    "The mark is what was seen. The bar around it is the 95 % interval: so few tasks leave any true"
    " rate within it likely (Wilson's interval; a task counts once, however often it was tried)."
    " Where the bars of two arms overlap widely, the difference may be chance."
)
MEMORIES = (
    "Given: in the prompt of so many runs. Helped: so many tasks were right only with it, or as"
    " right in fewer steps; harmed: the other way round. Success and steps: these tasks against the"
    " same ones without memory, with the 95 % interval; runs that used another memory instead are"
    " left out."
)


def safe(text: object, most: int | None = None) -> str:
    """Any text as inert HTML; what could reorder or hide text becomes U+FFFD."""
    shown = _UNSAFE.sub("\ufffd", str(text))
    if most is not None and len(shown) > most:
        shown = shown[: most - 1] + "…"
    return html.escape(shown, quote=True)


def page(made: Evaluation) -> str:
    """The whole page."""
    names = [_arm_name(arm) for arm in made.arms]
    sums = [made.summary(arm) for arm in made.arms]
    effects = made.memories()
    parts = [
        _head(made),
        _tiles(names, sums, made.differences()),
        _section("Success", _success_plot(names, sums), INTERVALS),
        _section("By kind", _kinds(made, names), "Right answers of all runs, in steps on average."),
        _section("By memory", _memories(effects), MEMORIES) if effects else "",
        _section(
            "Every task",
            _tasks(made, names),
            "✓ right, ✗ wrong; the number after the dot is the steps.",
        ),
        _section("Tokens and leakage", _leakage(names, sums)),
    ]
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Evaluation of {safe(made.curriculum_id)}</title>"
        f"<style>\n{STYLE_SHEET.read_text('utf-8')}</style></head>\n"
        f"<body><main>{''.join(parts)}</main></body></html>\n"
    )


def _arm_name(arm: str) -> str:
    return ARM_NAMES.get(arm, arm)


def _section(title: str, body: str, note: str = "") -> str:
    soft = f'<p class="soft">{note}</p>' if note else ""
    return f"<section><h2>{safe(title)}</h2>{body}{soft}</section>"


def _table(heads: Iterable[str], rows: Iterable[str]) -> str:
    head = f"<thead><tr>{''.join(heads)}</tr></thead>"
    return f"<table>{head}<tbody>{''.join(rows)}</tbody></table>"


def _number_heads(texts: Iterable[str]) -> list[str]:
    return [f'<th class="n">{safe(text)}</th>' for text in texts]


def _number(text: object, title: str = "") -> str:
    tip = f' title="{title}"' if title else ""
    return f'<td class="n"{tip}>{text}</td>'


# -- the head


def _head(made: Evaluation) -> str:
    tasks = len({run.task_id for run in made.runs})
    held_out = "held-out tasks, none of which was trained on"
    which = held_out if made.held_out else "tasks, trained on or not"
    scaling = f", {safe(made.scaling)}" if made.scaling else ""
    trials = f"{made.trials} trial{'' if made.trials == 1 else 's'} each{scaling}"
    asked = f"Ontology {safe(made.ontology_name)}, model {safe(made.model)}"
    when = safe(made.made_at[:16].replace("T", " "))
    lines = [
        f"<h1>Evaluation of {safe(made.curriculum_id)}</h1>",
        f'<p class="soft">{asked}: {tasks} {which}; {trials}. {when} UTC</p>',
    ]
    if (training := made.trained) is not None:
        lines.append(
            f'<p class="soft">Training: {training["tasks"]} tasks, {training["successes"]} solved, '
            f"{training['new_memories']} memories.</p>"
        )
    if made.shows:
        lines.append(f"<p><strong>{safe(made.shows)}</strong></p>")
    if made.stopped:
        lines.append(f"<p><strong>It ended early: {safe(made.stopped, 300)}.</strong></p>")
    return "".join(lines)


def _tiles(names: Sequence[str], sums: Sequence[Summary], gaps: Sequence[ArmDifference]) -> str:
    against = (None, *gaps)
    tiles = [
        _tile(name, place, each, against[place] if place < len(against) else None)
        for place, (name, each) in enumerate(zip(names, sums, strict=True))
    ]
    return f'<div class="tiles">{"".join(tiles)}</div>'


def _tile(name: str, place: int, each: Summary, gap: ArmDifference | None) -> str:
    low, high = map(percent, each.success_interval)
    disc = f'<circle class="a{place % 4}" cx="7" cy="7" r="5"/>'
    icon = f'<svg viewBox="0 0 14 14" aria-hidden="true">{disc}</svg>'
    compared = "" if gap is None else f"<br><small>{_compare(gap)}</small>"
    return (
        f'<div class="tile">{icon} {safe(name)}<b>{percent(each.success)}</b>'
        f"<small>{each.successes} of {each.runs} runs; 95 %: {low} to {high}</small>"
        f"<br>{each.steps:.1f} steps, {each.seconds:.1f} seconds on average{compared}</div>"
    )


def _compare(gap: ArmDifference) -> str:
    """Both differences in words, with intervals; what may be chance is no difference."""
    points, few = f"{abs(round(100 * gap.success))} points", f"{abs(round(100 * gap.steps))} %"
    more, less = f"{points} more success", f"{points} less success"
    success = _in_words(gap.success, gap.success_interval, more, less, "success")
    more, less = f"{few} more steps", f"{few} fewer steps"
    steps = _in_words(gap.steps, gap.steps_interval, more, less, "steps")
    low, high = gap.success_interval
    fewest, most = map(with_sign, gap.steps_interval)
    quick, slow = map(with_sign, gap.seconds_interval)
    return (
        f"against {safe(_arm_name(gap.base))}:<br><strong>{steps}</strong> ({fewest} to {most})"
        f"<br><strong>{success}</strong>"
        f" ({with_sign(low, '').strip()} to {with_sign(high, 'points')})"
        f"<br>seconds: {with_sign(gap.seconds)} ({quick} to {slow})"
    )


def _in_words(change: float, interval: Interval, more: str, less: str, what: str) -> str:
    low, high = interval
    return f"no sure difference in {what}" if low <= 0 <= high else more if change > 0 else less


def with_sign(share: float, unit: str = "%") -> str:
    """A difference: `−40 %`, `+5 points`."""
    number = round(100 * share)
    return f"{'−' if number < 0 else '+' if number else '±'}{abs(number)} {unit}"


def percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _success_plot(names: Sequence[str], sums: Sequence[Summary]) -> str:
    """The success rate of every arm with its interval, as SVG. Across, all places are shares of the
    width, so that it fits a telephone as well as a desk."""
    row, bottom = 44, 4 + 44 * len(names)
    parts = [
        f'<line class="grid" x1="{_x(share)}" x2="{_x(share)}" y1="4" y2="{bottom}"/>'
        f'<text class="tick" text-anchor="middle" x="{_x(share)}" y="{bottom + 16}">'
        f"{percent(share)}</text>"
        for share in (0.0, 0.25, 0.5, 0.75, 1.0)
    ]
    captions = []
    for place, (name, each) in enumerate(zip(names, sums, strict=True)):
        y, arm = 32 + row * place, f"a{place % 4}"
        low, high = each.success_interval
        captions.append(f"{name} {percent(each.success)} ({percent(low)} to {percent(high)})")
        parts += [
            f'<text x="0" y="{y - 14}">{safe(name, 40)}</text>',
            f'<line class="whisker {arm}" x1="{_x(low)}" x2="{_x(high)}" y1="{y}" y2="{y}"/>',
            f'<circle class="{arm}" cx="{_x(each.success)}" cy="{y}" r="7"/>',
            f'<text class="value" text-anchor="end" x="100%" y="{y + 4}">'
            f"{percent(each.success)}</text>",
        ]
    caption = f"Success rate by arm, with 95 % intervals: {'; '.join(captions)}"
    return (
        f'<svg class="plot" width="100%" height="{bottom + 22}" role="img"'
        f' aria-label="{safe(caption)}" xmlns="http://www.w3.org/2000/svg">{"".join(parts)}</svg>'
    )


def _x(share: float) -> str:
    return f"{4 + 80 * share:.2f}%"


# -- the tables


def _kinds(made: Evaluation, names: Sequence[str]) -> str:
    rows = []
    for kind in made.kinds:
        cells = ""
        for each in (made.summary(arm, kind) for arm in made.arms):
            low, high = map(percent, each.success_interval)
            rate = f"{each.successes}/{each.runs} in {each.steps:.1f}" if each.runs else ""
            cells += _number(rate, f"success, 95 %: {low} to {high}")
        rows.append(f"<tr><td>{safe(kind)}</td>{cells}</tr>")
    return _table(["<th>kind</th>", *_number_heads(names)], rows)


def _memories(effects: Sequence[MemoryEffect]) -> str:
    rows = []
    for each in effects:
        arm = safe(_arm_name(each.against.arm))
        about = f"<small>{safe(each.memory_id, QUESTION_CHARS)}, {arm}</small>"
        counts = (each.given, each.followed, each.helped, each.harmed)
        rows.append(
            f'<tr><td class="task">{safe(each.title, QUESTION_CHARS)}{about}</td>'
            f"{''.join(map(_number, counts))}{_changes(each.against)}</tr>"
        )
    heads = _number_heads(("given", "used", "helped", "harmed", "tasks", "success", "steps"))
    return _table(["<th>memory</th>", *heads], rows)


def _changes(gap: ArmDifference) -> str:
    if not gap.tasks:
        return _number(0) + _number("") * 2
    low, high = (with_sign(end, "").strip() for end in gap.success_interval)
    few, many = map(with_sign, gap.steps_interval)
    success = f"{with_sign(gap.success, 'points')} ({low} to {high})"
    steps = f"{with_sign(gap.steps)} ({few} to {many})"
    return _number(gap.tasks) + _number(success) + _number(steps)


def _tasks(made: Evaluation, names: Sequence[str]) -> str:
    runs: dict[str, dict[str, list[Measured]]] = {}
    for run in made.runs:
        runs.setdefault(run.task_id, {}).setdefault(run.arm, []).append(run)
    rows = []
    for task, by_arm in runs.items():
        first = next(iter(by_arm.values()))[0]
        each = [by_arm.get(arm, []) for arm in made.arms]
        wrong = "".join(_reasons(name, some) for name, some in zip(names, each, strict=True))
        about = f"{safe(task, QUESTION_CHARS)}, {safe(first.kind, QUESTION_CHARS)}"
        rows.append(
            f'<tr><td class="task">{safe(first.query, QUESTION_CHARS)}<small>{about}</small>'
            f"{wrong}</td>{''.join(map(_verdict, each))}</tr>"
        )
    return _table(["<th>task</th>", *(f"<th>{safe(name)}</th>" for name in names)], rows)


def _reasons(name: str, runs: Sequence[Measured]) -> str:
    """Why runs of an arm were not right, each reason once."""
    why = "; ".join(dict.fromkeys(run.reason for run in runs if not run.success))
    return f"<small>✗ {safe(name)}: {safe(why, REASON_CHARS)}</small>" if why else ""


def _verdict(runs: Sequence[Measured]) -> str:
    if not runs:
        return "<td></td>"
    right = sum(bool(run.success) for run in runs)
    all_right = right == len(runs)
    share = f" {right}/{len(runs)}" if len(runs) > 1 else ""
    steps = mean([float(run.steps) for run in runs])
    mark = "✓" if all_right else "✗"
    return f'<td class="{"ok" if all_right else "no"}">{mark}{share} · {steps:g}</td>'


def _leakage(names: Sequence[str], sums: Sequence[Summary]) -> str:
    rows = []
    for name, each in zip(names, sums, strict=True):
        numbers = (
            f"{each.tokens:,.0f}",
            f"{each.seconds:.2f}",
            f"{each.followed}/{each.runs}",
            f"{each.max_single_return:,}",
            f"{each.context_size:,}",
        )
        flags = safe("; ".join(each.flags) or "none", 300)
        cells = "".join(map(_number, numbers))
        rows.append(f"<tr><td>{safe(name)}</td>{cells}<td>{flags}</td></tr>")
    titles = ("tokens a run", "seconds", "followed a memory", "largest return", "largest context")
    return _table(["<th>arm</th>", *_number_heads(titles), "<th>flags</th>"], rows)
