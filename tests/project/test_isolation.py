"""Tests cannot reach the home or the settings of whoever runs them."""

from __future__ import annotations

import os
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from rlm import config


def test_home_is_empty_and_settings_are_defaults(clean_environment):
    assert Path.home() == clean_environment
    assert list(clean_environment.iterdir()) == []
    assert config.load() == config.Settings()
    assert not [name for name in os.environ if name.startswith("RLM_")]


def test_a_store_is_fresh_and_has_meaning(store, tmp_path):
    assert store.stats()["memories"] == 0
    assert store.stats()["engine"]["semantic"]
    assert (tmp_path / "memory.db").is_file()


@given(st.integers())
def test_properties_have_no_deadline_and_keep_their_home(number):
    assert settings.default.deadline is None
    assert "home" in Path.home().name
