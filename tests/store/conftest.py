"""Fixtures for the store's tests: real files, both backends."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path

import pytest
from store_opening import open_store

from rlm.store.types import LOCAL, MemoryItem, Tenant


def item(title="Find a class by its label", content="1. search\n2. describe", **kw):
    kw.setdefault("description", f"About: {title}")
    return MemoryItem(title=title, content=content, **kw)


@pytest.fixture
def make_item():
    return item


BACKENDS = {
    "sqlite": "{folder}/memory.db",
    "json": "json:{folder}/memory.json",
    "postgres": "postgres_server",
    "postgres15": "postgres15_server",
}
"""The backends that pass the contract suite; a further one is a further line."""
FAST_OVER_POSTGRES = {
    "test_it_is_a_backend", "test_add_returns_the_stable_id_and_get_gives_everything_back",
    "test_tenants_do_not_see_each_other", "test_tenants_do_not_see_each_others_runs",
    "test_the_cascade_goes_from_project_to_team_to_org", "test_explain_says_every_factor",
    "test_delete_archives_restore_brings_back_purge_is_final", "test_filters",
    "test_new_words_give_a_new_id_and_only_the_new_words_are_found",
    "test_a_run_moves_confidence_counts_outcomes_and_changes_memories",
    "test_learning_rows_say_what_a_run_was_given_and_what_came_of_it",
    "test_writes_together_happen_all_or_not_at_all", "test_a_closed_store_is_closed",
    "test_a_store_that_is_only_read_takes_nothing", "test_backup_is_a_store_of_its_own",
    "test_lists_filter_by_scope_and_provenance", "test_what_changed_since_a_mark_is_told",
    "test_a_job_goes_from_ready_to_done_with_its_memories", "test_who_lost_the_lease_cannot_finish",
    "test_what_jobs_cost_is_added_up_for_a_day_and_an_organisation",
    "test_what_a_dropped_job_has_cost_today_still_counts",
    "test_a_rollback_takes_back_what_nobody_changed", "test_branches_have_budgets_and_an_end",
    "test_a_memory_is_moved_to_another_level_and_back_with_all_that_is_known_of_it",
    "test_the_projects_that_hold_the_same_are_counted", "test_a_token_belongs_to_one_project",
    "test_a_project_with_a_new_name_keeps_what_it_knew", "test_other_projects_and_their_counts",
    "test_a_sound_store_says_so_and_needs_no_repair", "test_everything_is_copied_once",
    "test_a_context_edge_finds_a_turn_by_its_neighbours_words", "test_update_changes_what_is_named",
    "test_ids_of_another_project_in_the_file_are_refused", "test_related_nodes_by_edge_type",
    "test_a_consolidation_is_undone_as_a_whole", "test_unlink_takes_an_edge_or_two_nodes",
}  # fmt: skip
"""The default suite runs these over PostgreSQL, `make test-slow` all, and all over version 15 too."""


def pytest_collection_modifyitems(items):
    for each in items:
        kind = getattr(each, "callspec", None) and next(
            (
                value
                for value in each.callspec.params.values()
                if value in ("postgres", "postgres15")
            ),
            None,
        )
        if kind and (kind != "postgres" or each.originalname not in FAST_OVER_POSTGRES):
            each.add_marker(pytest.mark.slow)


@contextmanager
def opening(kind: str, folder: Path, request):
    def opened(tenant: Tenant = LOCAL, **kw):
        store = open_store(opened.url, tenant=tenant, **kw)
        stores.append(store)
        return store

    stores: list = []
    where = BACKENDS[kind]
    if kind.startswith("postgres"):
        opened.kind, opened.url = "postgres", request.getfixturevalue(where).empty_store()
    else:
        opened.kind, opened.url = kind, where.format(folder=folder)
    yield opened
    for store in stores:
        store.close()


@pytest.fixture
def open_kind(tmp_path: Path, request):
    """The same, of a kind that the test names."""
    return lambda kind: opening(kind, tmp_path, request)


@pytest.fixture(params=list(BACKENDS))
def opener(request, tmp_path: Path):
    """Open, and open again, the same store of each kind; `kind` tells which, `url` where."""
    with opening(request.param, tmp_path, request) as opened:
        yield opened


@pytest.fixture(params=["sqlite", "json"])
def file_opener(request, tmp_path: Path):
    """The same, of each kind that is a file."""
    with opening(request.param, tmp_path, request) as opened:
        yield opened


@pytest.fixture
def graph(opener):
    """The hypergraph of a fresh store of each kind."""
    return opener().graph


@pytest.fixture
def backend(opener):
    return opener()


@pytest.fixture
def db(tmp_path: Path):
    """A fresh SQLite store."""
    with open_store(tmp_path / "memory.db") as store:
        yield store
