"""What runs come to, side by side, and the page about it."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import pytest

from rlm.evaluate import Evaluation, InPrompt, Measured, page

VOID = {"meta", "br"}
HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</title></style><style>*{display:none}</style>",
    "javascript:alert(1) ' onmouseover='x",
    "\u202ereversed \x00 zero \x1b[31m red \ud800",
    "]]></svg><svg onload=alert(1)>",
    "&lt;b&gt; &amp;amp; {{7*7}} ${x} %s",
    "long " * 800,
]


def measured(arm, task, *, ok=True, steps=4, trial=1, kind="subclasses", **more):
    values = {
        "query": f"Question {task}?",
        "tokens": 100 * steps,
        "seconds": 0.2,
        "reason": "as it should be",
    } | more
    return Measured(
        arm=arm,
        task_id=task,
        kind=kind,
        trial=trial,
        success=ok,
        converged=True,
        steps=steps,
        **values,
    )


def evaluation(runs, **more):
    values = {"curriculum_id": "c1", "ontology_name": "prov", "model": "offline", "arms": ("off", "packs", "trained"),
              "trials": 1, "scaling": None, "held_out": True, "made_at": "2026-01-02T03:04:05Z"} | more  # fmt: skip
    return Evaluation(runs=runs, **values)


@pytest.fixture
def usual():
    runs = [
        measured("off", f"t{n}", ok=n > 0, steps=6, kind="path" if n % 2 else "roots")
        for n in range(6)
    ]
    runs += [
        measured("packs", f"t{n}", steps=3, kind="path" if n % 2 else "roots") for n in range(6)
    ]
    leak = {
        "max_single_return": 1200,
        "context_size": 1500,
        "flags": ("max_single_return: 1,200 > 1,000 (x)",),
    }
    runs += [measured("trained", f"t{n}", steps=2, kind="path" if n % 2 else "roots", followed=1, **leak)
             for n in range(6)]  # fmt: skip
    return evaluation(
        runs, trained={"tasks": 6, "earlier": 0, "successes": 5, "steps": 4.0, "new_memories": 3}
    )


def test_the_arms_stand_side_by_side(usual):
    off, trained = usual.summary("off"), usual.summary("trained")
    assert (off.tasks, off.runs, off.successes) == (6, 6, 5) and off.success == pytest.approx(5 / 6)
    assert off.success_interval[0] < 5 / 6 < off.success_interval[1]
    assert (trained.steps, trained.followed, trained.max_single_return, trained.context_size) == (
        2,
        6,
        1200,
        1500,
    )
    assert trained.flagged == 6 and trained.flags == ("max_single_return: 1,200 > 1,000 (x)",)
    packs, learnt = usual.differences()
    assert (packs.arm, packs.base, packs.tasks) == ("packs", "off", 6)
    assert learnt.steps == pytest.approx(-2 / 3) and learnt.success == pytest.approx(1 / 6)
    assert learnt.success_interval[0] < 1 / 6 < learnt.success_interval[1]
    assert usual.kinds == ["roots", "path"] and usual.summary("off", "path").success == 1


def test_trials_of_a_task_are_one_observation():
    runs = [
        measured("off", task, ok=trial > 1, trial=trial)
        for task in ("a", "b")
        for trial in (1, 2, 3)
    ]
    found = evaluation(runs, arms=("off",), trials=3).summary("off")
    assert (found.tasks, found.runs, found.successes) == (
        2,
        6,
        4,
    ) and found.success == pytest.approx(2 / 3)
    low, high = found.success_interval
    assert high - low > 0.7, "two tasks prove little, however often they are run"


def test_a_difference_takes_only_what_both_arms_ran():
    runs = [
        measured("off", "a"),
        measured("packs", "a", ok=False),
        measured("off", "b"),
        measured("packs", "c"),
    ]
    (gap,) = evaluation(runs, arms=("off", "packs")).differences()
    assert (gap.tasks, gap.success) == (1, -1)


def test_each_memory_is_held_against_the_same_tasks_without_it():
    good, bad, beside = (InPrompt(name, f"Way {name}", followed=name != "c") for name in "abc")
    runs = [measured("off", task, steps=4) for task in "pqrs"]
    runs += [measured("packs", "p", steps=2, memories=(good, beside)),
             measured("packs", "q", steps=2, memories=(good,)),
             measured("packs", "r", ok=False, steps=6, memories=(bad,)), measured("packs", "s", steps=4)]  # fmt: skip
    made = evaluation(runs, arms=("off", "packs"))
    harm, other, help_ = made.memories()
    assert (harm.memory_id, harm.given, harm.followed, harm.against.tasks) == ("b", 1, 1, 1)
    assert (harm.against.success, harm.against.steps) == (-1, 0.5), "the harm comes first"
    assert (other.memory_id, other.given, other.followed, other.against.tasks) == (
        "c",
        1,
        0,
        0,
    ), "another was followed"
    assert (help_.title, help_.given, help_.against.tasks, help_.against.steps) == (
        "Way a",
        2,
        2,
        -0.5,
    )
    assert [each["memory_id"] for each in json.loads(json.dumps(made.to_dict()))["memories"]] == [
        "b",
        "c",
        "a",
    ]
    shown = "".join(Reader(page(made)).text)
    assert "Way b" in shown and "−100 points" in shown and "−50 % (−50 % to −50 %)" in shown


def test_helped_and_harmed_are_told_apart_by_task():
    way = (InPrompt("a", "Way a", followed=True),)
    runs = [measured("off", task, steps=4, ok=task != "p") for task in "pqrst"]
    runs += [
        measured("packs", "p", steps=9, memories=way),  # right only with it
        measured("packs", "q", steps=3, memories=way),  # as right in fewer steps
        measured("packs", "r", ok=False, steps=2, memories=way),
        measured("packs", "s", steps=5, memories=way),
        measured("packs", "t", steps=4, memories=way),
    ]
    (effect,) = evaluation(runs, arms=("off", "packs")).memories()
    assert (effect.given, effect.helped, effect.harmed) == (5, 2, 2)


def test_seconds_have_an_interval_and_a_difference():
    runs = [measured("off", f"t{n}", seconds=2.0 + n) for n in range(4)]
    runs += [measured("packs", f"t{n}", seconds=1.0 + n / 2) for n in range(4)]
    made = evaluation(runs, arms=("off", "packs"))
    off, (gap,) = made.summary("off"), made.differences()
    assert off.seconds == 3.5 and 2 <= off.seconds_interval[0] < 3.5 < off.seconds_interval[1] <= 5
    assert gap.seconds == pytest.approx(-0.5) and gap.seconds_interval == pytest.approx(
        (-0.5, -0.5)
    )
    assert "seconds: −50 %" in "".join(Reader(page(made)).text)


def test_what_could_not_be_judged_is_neither_right_nor_wrong():
    runs = [measured("off", "a"), measured("off", "b", ok=None), measured("packs", "b", ok=False)]
    made = evaluation(runs, arms=("off", "packs"))
    off, (gap,) = made.summary("off"), made.differences()
    assert (off.success, off.successes, off.unjudged, off.tasks) == (1.0, 1, 1, 2)
    assert gap.success == 0 and gap.success_interval == (-1, 1), "nothing to compare"


def test_a_planner_proves_nothing_about_memory_and_the_report_says_so(usual):
    assert usual.shows == "" and "does not show" not in page(usual)
    said = evaluation(usual.runs, is_language_model=False)
    assert "does not show that memory helps or harms a model" in said.shows
    assert said.shows in "".join(Reader(page(said)).text)


def test_the_json_form_is_whole(usual):
    found = json.loads(json.dumps(usual.to_dict()))
    assert set(found["arms"]) == {"off", "packs", "trained"} and len(found["runs"]) == 18
    assert found["kinds"]["path"]["off"]["success"] == 1 and len(found["differences"]) == 2
    assert found["arms"]["off"]["success_interval"][0] < 1


def test_an_evaluation_without_a_run_can_be_shown():
    empty = evaluation([], stopped="interrupted")
    json.dumps(empty.to_dict())
    assert "It ended early" in page(empty)


# -- the page
# ----------------------------------------------------------------------------------------------


class Reader(HTMLParser):
    """Tags, attributes and text of a page; complains about what is not closed."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.open, self.text = [], [], [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def test_the_page_is_one_file_with_a_plot_and_every_number(usual):
    text = page(usual)
    read = Reader(text)
    assert read.attributes.count(("role", "img")) == 1, "the plot"
    (caption,) = [value for name, value in read.attributes if name == "aria-label"]
    assert "memory off 83 % (44 % to 97 %)" in caption, "the plot says what it is"
    shown = "".join(read.text)
    for part in ("memory off", "shipped packs", "83 %", "100 %", "Question t3?", "✗ · 6", "✓ · 2", "1,200",
                 "67 % fewer steps", "no sure difference in success", "✗ memory off: as it should be",
                 "95 % interval"):  # fmt: skip
        assert part in shown, part
    across = [value for name, value in read.attributes if name in ("x1", "x2")]
    assert across and all(value.endswith("%") for value in across), (
        "a plot has the width of the screen"
    )
    assert "prefers-color-scheme: dark" in text and "default-src 'none'" in text


def test_the_page_loads_nothing(usual):
    text = page(usual)
    read = Reader(text)
    assert not {"script", "link", "img", "iframe", "object", "a", "form", "base"} & set(read.tags)
    assert not [
        name
        for name, _ in read.attributes
        if name.startswith("on") or name in ("src", "href", "style")
    ]
    addresses = set(re.findall(r"(?:https?:)?//[\w.]+", text))
    assert addresses == {"http://www.w3.org"}, "only the name of SVG"
    assert "url(" not in text and "@import" not in text


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_task_is_shown_and_does_nothing(usual, text):
    plain = Reader(page(usual))
    more = {
        "query": text,
        "reason": text,
        "kind": text,
        "flags": (text,),
        "memories": (InPrompt(text, text, True),),
    }
    runs = [measured(arm, text, ok=False, **more) for arm in usual.arms]
    made = evaluation(
        runs, curriculum_id=text, ontology_name=text, model=text, stopped=text, scaling=text
    )
    shown = page(made)
    shown.encode("utf-8")
    read = Reader(shown)
    assert set(read.tags) <= set(plain.tags) | {"strong"}
    assert {name for name, _ in read.attributes} <= {name for name, _ in plain.attributes} | {
        "title"
    }
    assert not set(shown) & set("\x00\x1b\u202e\ud800")
    assert len(shown) < 60_000 + 10 * len(text), "long texts are cut"
