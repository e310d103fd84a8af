"""One page about an evaluation: self-contained, without scripts, for light and dark screens and for
paper.

Task texts come from other people: every text is escaped, and the page forbids itself to load or run
anything.
"""

from __future__ import annotations

from rlm.evaluate.plots import legend, marker, percent, safe, steps_plot, success_plot
from rlm.evaluate.report import Difference, Evaluation, Measured, MemoryEffect, Summary
from rlm.evaluate.stats import Interval, mean

ARM_NAMES = {"off": "memory off", "packs": "shipped packs", "trained": "trained"}
QUESTION_CHARS = 160
REASON_CHARS = 240

STYLE = """
:root { color-scheme: light dark; --ink: #1c2430; --soft: #5b6675; --line: #dfe4ea; --page: #f6f7f9; --card: #ffffff;
  --a0: #6b7280; --a1: #1d6fd1; --a2: #c2560c; --good: #17703c; --bad: #b3261e; --good-bg: #e4f4ea; --bad-bg: #fbe6e4; }
@media screen and (prefers-color-scheme: dark) { :root { --ink: #e8ecf1; --soft: #9aa6b5; --line: #2d3642;
  --page: #12161c; --card: #1a2028; --a0: #9aa3b0; --a1: #6cb0ff; --a2: #ff9f5a; --good: #7fdca4; --bad: #ff9a92;
  --good-bg: #173325; --bad-bg: #3a1f1d; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 60rem; margin: 0 auto; padding: 2rem 1rem 4rem; }
h1 { font-size: 1.7rem; margin: 0 0 .25rem; } h2 { font-size: 1.15rem; margin: 0 0 .75rem; }
p { margin: .25rem 0 .75rem; } .soft, small { color: var(--soft); }
section { background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 1.25rem;
  margin-top: 1.25rem; overflow-x: auto; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(14rem, 1fr)); gap: 1rem; margin-top: 1.25rem; }
.tile { background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 1rem 1.25rem; }
.tile b { display: block; font-size: 2rem; line-height: 1.2; } .tile svg { width: 14px; height: 14px; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .35rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; }
th { font-weight: 600; } td.n, th.n { text-align: right; } td.n { white-space: nowrap; }
td.ok, td.no { text-align: center; white-space: nowrap; } td.ok { background: var(--good-bg); color: var(--good); }
td.no { background: var(--bad-bg); color: var(--bad); font-weight: 600; }
td.task { overflow-wrap: anywhere; min-width: 9rem; } td.task small { display: block; }
.plot { display: block; overflow: visible; }
.legend { margin: 0 0 .5rem; } .legend span { margin-right: 1rem; white-space: nowrap; }
.legend svg { width: 14px; height: 14px; vertical-align: -2px; }
svg text { fill: var(--ink); font: 13px system-ui, sans-serif; } svg .tick { fill: var(--soft); font-size: 12px; }
svg .grid { stroke: var(--line); } svg .value { fill: var(--soft); } svg .mean { stroke-width: 2.5; }
svg .range { stroke-width: 1.5; opacity: .4; } svg .whisker { stroke-width: 3; opacity: .55; }
svg .end { stroke-width: 2; opacity: .55; }
.a0 { fill: var(--a0); stroke: var(--a0); } .a1 { fill: var(--a1); stroke: var(--a1); }
.a2 { fill: var(--a2); stroke: var(--a2); }
@media (max-width: 40rem) { section { padding: 1rem .75rem; } th, td { padding: .3rem .35rem; }
  table { font-size: .85rem; } }
@media print { body { background: none; } section, .tile { break-inside: avoid; } }
"""


def page(made: Evaluation) -> str:
    """The whole page."""
    names = [ARM_NAMES.get(arm, arm) for arm in made.arms]
    sums = [made.summary(arm) for arm in made.arms]
    parts = [_head(made), _tiles(names, sums, made.differences())]
    parts.append(_section("Success", success_plot(names, sums), _intervals()))
    parts.append(
        _section("Steps by kind of question", legend(names) + steps_plot(made, names), _reading())
    )
    parts.append(_section("By kind", _kinds(made, names)))
    if effects := made.memories():
        parts.append(_section("By memory", _memories(effects)))
    parts.append(_section("Every task", _grid(made, names)))
    parts.append(_section("Tokens and leakage", _leakage(names, sums)))
    title = f"Evaluation of {safe(made.curriculum_id)}"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; style-src'
        " 'unsafe-inline'\">"
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{STYLE}</style></head>\n<body><main>{''.join(parts)}</main></body></html>\n"
    )


def _head(made: Evaluation) -> str:
    tasks = len({run.task_id for run in made.runs})
    which = (
        "held-out tasks, none of which was trained on"
        if made.held_out
        else "tasks, trained on or not"
    )
    scaling = f", {safe(made.scaling)}" if made.scaling else ""
    trials = f"{made.trials} trial{'' if made.trials == 1 else 's'} each{scaling}"
    lines = [
        f"<h1>Evaluation of {safe(made.curriculum_id)}</h1>",
        f'<p class="soft">Ontology {safe(made.ontology_name)}, model {safe(made.model)}: {tasks}'
        f" {which}; {trials}. "
        f"{safe(made.made_at[:16].replace('T', ' '))} UTC</p>",
    ]
    if made.trained is not None:
        told = made.trained
        lines.append(
            f'<p class="soft">Training: {told["tasks"]} tasks, {told["successes"]} solved, '
            f"{told['new_memories']} memories.</p>"
        )
    if made.stopped:
        lines.append(f"<p><strong>It ended early: {safe(made.stopped, 300)}.</strong></p>")
    return "".join(lines)


def _tiles(names: list[str], sums: list[Summary], differences: list[Difference]) -> str:
    against = dict(enumerate(differences, 1))
    pairs = enumerate(zip(names, sums, strict=True))
    tiles = "".join(_tile(name, place, each, against.get(place)) for place, (name, each) in pairs)
    return f'<div class="tiles">{tiles}</div>'


def _tile(name: str, place: int, each: Summary, gap: Difference | None) -> str:
    low, high = each.success_interval
    icon = f'<svg viewBox="0 0 14 14" aria-hidden="true">{marker(place, 7, 7)}</svg>'
    lines = [
        f"{icon} {safe(name)}<b>{percent(each.success)}</b>",
        (
            f"<small>{each.successes} of {each.runs} runs; 95 %: {percent(low)} to"
            f" {percent(high)}</small>"
        ),
        f"<br>{each.steps:.1f} steps on average",
    ]
    if gap is not None:
        lines.append(f"<br><small>{_gap(gap)}</small>")
    return f'<div class="tile">{"".join(lines)}</div>'


def _gap(gap: Difference) -> str:
    """Both differences in words, each with its interval; what chance alone may make is not called a
    difference."""
    points = f"{abs(round(100 * gap.success))} points"
    success = _told(
        gap.success,
        gap.success_interval,
        f"{points} more success",
        f"{points} less success",
        "success",
    )
    few = f"{abs(round(100 * gap.steps))} %"
    steps = _told(gap.steps, gap.steps_interval, f"{few} more steps", f"{few} fewer steps", "steps")
    low, high = gap.success_interval
    steps_low, steps_high = gap.steps_interval
    return (
        f"against {safe(ARM_NAMES.get(gap.base, gap.base))}:<br><strong>{steps}</strong> "
        f"({signed(steps_low)} to {signed(steps_high)})<br><strong>{success}</strong> "
        f"({signed(low, '').strip()} to {signed(high, 'points')})"
    )


def _told(change: float, interval: Interval, more: str, less: str, what: str) -> str:
    low, high = interval
    return f"no sure difference in {what}" if low <= 0 <= high else more if change > 0 else less


def signed(share: float, unit: str = "%") -> str:
    """A difference: `−40 %`, `+5 points`."""
    number = round(100 * share)
    return f"{'−' if number < 0 else '+' if number else '±'}{abs(number)} {unit}"


def _section(title: str, body: str, note: str = "") -> str:
    return f"<section><h2>{safe(title)}</h2>{body}{note}</section>"


def _intervals() -> str:
    return (
        '<p class="soft">The mark is what was seen. The bar around it is the 95 % interval: so few'
        " tasks leave any true rate within it likely (Wilson's interval; a task counts once,"
        " however often it was tried). Where the bars of two arms overlap widely, the difference"
        " may be chance.</p>"
    )


def _reading() -> str:
    return (
        '<p class="soft">One mark for each number of steps, larger where more runs took it. The'
        " upright stroke and the number on the right are the mean; further left is quicker.</p>"
    )


def _kinds(made: Evaluation, names: list[str]) -> str:
    head = "".join(f'<th class="n">{safe(name)}</th>' for name in names)
    rows = []
    for kind in made.kinds:
        cells = []
        for arm in made.arms:
            each = made.summary(arm, kind)
            low, high = each.success_interval
            told = f"{each.successes}/{each.runs} in {each.steps:.1f}" if each.runs else ""
            cells.append(
                f'<td class="n" title="success, 95 %: {percent(low)} to'
                f' {percent(high)}">{told}</td>'
            )
        rows.append(f"<tr><td>{safe(kind)}</td>{''.join(cells)}</tr>")
    table = (
        f"<table><thead><tr><th>kind</th>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    )
    return table + '<p class="soft">Right answers of all runs, in steps on average.</p>'


def _memories(effects: list[MemoryEffect]) -> str:
    head = "".join(
        f'<th class="n">{text}</th>' for text in ("given", "used", "tasks", "success", "steps")
    )
    rows = "".join(
        "<tr><td"
        f' class="task">{safe(each.title, QUESTION_CHARS)}<small>{safe(each.memory_id, QUESTION_CHARS)},'
        f" {safe(ARM_NAMES.get(each.against.arm, each.against.arm))}</small></td><td"
        f' class="n">{each.given}</td><td'
        f' class="n">{each.followed}</td>{_change(each.against)}</tr>'
        for each in effects
    )
    table = f"<table><thead><tr><th>memory</th>{head}</tr></thead><tbody>{rows}</tbody></table>"
    return (
        table
        + '<p class="soft">Given: in the prompt of so many runs. Success and steps: these tasks'
        " against the same ones without memory, with the 95 % interval; runs that used another"
        " memory instead are left out.</p>"
    )


def _change(gap: Difference) -> str:
    if not gap.tasks:
        return '<td class="n">0</td><td class="n"></td><td class="n"></td>'
    low, high = gap.success_interval
    few, many = gap.steps_interval
    return (
        f'<td class="n">{gap.tasks}</td><td class="n">{signed(gap.success, "points")} '
        f"({signed(low, '').strip()} to {signed(high, '').strip()})</td>"
        f'<td class="n">{signed(gap.steps)} ({signed(few)} to {signed(many)})</td>'
    )


def _grid(made: Evaluation, names: list[str]) -> str:
    runs: dict[str, dict[str, list[Measured]]] = {}
    for run in made.runs:
        runs.setdefault(run.task_id, {}).setdefault(run.arm, []).append(run)
    rows = []
    for task, by_arm in runs.items():
        first = next(iter(by_arm.values()))[0]
        cells = "".join(_cell(by_arm.get(arm, [])) for arm in made.arms)
        wrong = "".join(
            _wrong(name, by_arm.get(arm, [])) for arm, name in zip(made.arms, names, strict=True)
        )
        rows.append(
            "<tr><td"
            f' class="task">{safe(first.query, QUESTION_CHARS)}<small>{safe(task, QUESTION_CHARS)},'
            f" {safe(first.kind, QUESTION_CHARS)}</small>{wrong}</td>{cells}</tr>"
        )
    head = "".join(f"<th>{safe(name)}</th>" for name in names)
    table = (
        f"<table><thead><tr><th>task</th>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    )
    return table + '<p class="soft">✓ right, ✗ wrong; the number after the dot is the steps.</p>'


def _wrong(name: str, runs: list[Measured]) -> str:
    """Why runs of an arm were not right, each reason once."""
    why = "; ".join(dict.fromkeys(run.reason for run in runs if not run.success))
    return f"<small>✗ {safe(name)}: {safe(why, REASON_CHARS)}</small>" if why else ""


def _cell(runs: list[Measured]) -> str:
    if not runs:
        return "<td></td>"
    right = sum(run.success for run in runs)
    steps = mean([float(run.steps) for run in runs])
    mark = (
        ("✓" if right else "✗")
        if len(runs) == 1
        else f"{'✓' if right == len(runs) else '✗'} {right}/{len(runs)}"
    )
    return f'<td class="{"ok" if right == len(runs) else "no"}">{mark} · {steps:g}</td>'


def _leakage(names: list[str], sums: list[Summary]) -> str:
    rows = "".join(
        f'<tr><td>{safe(name)}</td><td class="n">{each.tokens:,.0f}</td><td'
        f' class="n">{each.seconds:.2f}</td>'
        f'<td class="n">{each.followed}/{each.runs}</td><td'
        f' class="n">{each.max_single_return:,}</td>'
        f'<td class="n">{each.context_size:,}</td><td>{safe("; ".join(each.flags) or "none", 300)}</td></tr>'
        for name, each in zip(names, sums, strict=True)
    )
    head = "".join(
        f'<th class="n">{text}</th>'
        for text in (
            "tokens a run",
            "seconds",
            "followed a memory",
            "largest return",
            "largest context",
        )
    )
    return f"<table><thead><tr><th>arm</th>{head}<th>flags</th></tr></thead><tbody>{rows}</tbody></table>"
