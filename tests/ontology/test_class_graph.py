"""Roots and shared parents of many classes: the time grows with the classes, not with their square."""

from __future__ import annotations

import time

from rlm.ontology.meta.class_graph import find_roots, share_parents


def test_the_roots_of_many_classes_are_found_in_no_time() -> None:
    names = [f"http://e.test/{n}" for n in range(20_000)]
    supers = {name: [names[n // 8]] for n, name in enumerate(names[1:])}
    subs: dict[str, list[str]] = {}
    for name, (above,) in supers.items():
        subs.setdefault(above, []).append(name)
    started = time.process_time()
    assert find_roots(names, set(names), supers, subs, {}) == names[:1]
    assert time.process_time() - started < 2


def test_many_classes_that_are_all_equivalent_share_their_parents_in_no_time() -> None:
    names = {f"http://e.test/{n}" for n in range(600)}
    equivalents = {name: names - {name} for name in names}
    started = time.process_time()
    shared = share_parents({"http://e.test/0": {"http://e.test/top"}}, equivalents)
    assert time.process_time() - started < 2
    assert shared == {name: {"http://e.test/top"} for name in names - {"http://e.test/0"}}
