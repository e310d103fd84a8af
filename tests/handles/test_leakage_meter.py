"""The leakage meter: four numbers and three red flags."""

from __future__ import annotations

import json
import threading

import pytest

from rlm.handles import Meter

pytestmark = pytest.mark.req("UT-01")


def test_a_fresh_meter_is_at_zero():
    assert Meter().report() == {
        "total_chars_returned": 0,
        "max_single_return": 0,
        "memory_items_injected": 0,
        "context_size": 0,
        "flags": [],
        "by_tool": {},
    }


def test_returns_are_summed_and_the_largest_is_kept():
    meter = Meter()
    for tool, chars in (("ctx_find", 300), ("mem_get", 900), ("ctx_find", 200)):
        meter.note(tool, chars)
    report = meter.report()
    assert (report["total_chars_returned"], report["max_single_return"], report["flags"]) == (
        1400,
        900,
        [],
    )
    assert report["by_tool"] == {
        "ctx_find": {"calls": 2, "chars": 500},
        "mem_get": {"calls": 1, "chars": 900},
    }
    assert json.loads(json.dumps(report)) == report


def test_what_goes_to_the_sandbox_only_is_no_single_return():
    meter = Meter()
    meter.note("text.read", 20_000, to_prompt=False)
    report = meter.report()
    assert (report["max_single_return"], report["flags"]) == (0, [])
    assert report["by_tool"]["text.read"]["chars"] == report["total_chars_returned"] == 20_000


def test_at_the_threshold_there_is_no_flag_and_above_there_is():
    meter = Meter()
    meter.note("mem_get", 1000)
    meter.memory_items_injected, meter.context_size = 3, 4000
    assert meter.report()["flags"] == []
    meter.note("mem_get", 1001)
    meter.memory_items_injected, meter.context_size = 4, 4001
    assert meter.report()["flags"] == [
        "max_single_return: 1,001 > 1,000 (mem_get)",
        "memory_items_injected: 4 > 3",
        "context_size: 4,001 > 4,000",
    ]


def test_threads_lose_no_count():
    meter = Meter()
    threads = [
        threading.Thread(target=lambda: [meter.note("t", 1) for _ in range(2000)]) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert meter.report()["by_tool"]["t"] == {"calls": 16_000, "chars": 16_000}
