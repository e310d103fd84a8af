"""Tokens and cost, added up."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlm.llm import Reply, Usage
from rlm.llm.prices import PRICES, Price, cost_usd, price_of
from rlm.llm.types import estimate_tokens

replies = st.builds(
    Reply,
    text=st.just(""),
    model=st.just("m"),
    input_tokens=st.integers(0, 10**6),
    output_tokens=st.integers(0, 10**6),
    cost_usd=st.none() | st.floats(0, 100),
    stop_reason=st.just("stop"),
    seconds=st.just(0.0),
    estimated=st.booleans(),
)


@given(st.lists(replies))
def test_usage_is_the_sum_of_its_replies(found):
    usage = Usage()
    for reply in found:
        usage.add(reply)
    known = [reply.cost_usd for reply in found if reply.cost_usd is not None]
    assert usage.calls == len(found)
    assert usage.input_tokens == sum(reply.input_tokens for reply in found)
    assert usage.output_tokens == sum(reply.output_tokens for reply in found)
    assert usage.total_tokens == usage.input_tokens + usage.output_tokens
    assert usage.unpriced_calls == len(found) - len(known)
    assert usage.estimated_calls == sum(reply.estimated for reply in found)
    if found and not known:
        assert usage.cost_usd is None
    else:
        assert usage.cost_usd == pytest.approx(sum(known))
    assert json.loads(json.dumps(usage.to_dict())) == usage.to_dict()


def test_nothing_spent_is_nothing():
    assert Usage().cost_usd == 0.0 and Usage().calls == 0
    assert repr(Usage()).startswith("Usage(calls=0, input_tokens=0")


def test_many_threads_lose_nothing():
    usage, reply = Usage(), Reply("", "m", 3, 5, 0.5, "stop", 0.0)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(usage.add, [reply] * 4000))
    assert usage.to_dict() == {
        "calls": 4000,
        "input_tokens": 12000,
        "output_tokens": 20000,
        "cost_usd": 2000.0,
        "unpriced_calls": 0,
        "estimated_calls": 0,
    }


@given(st.text())
def test_four_characters_are_a_token(text):
    assert 4 * estimate_tokens(text) - 3 <= len(text) <= 4 * estimate_tokens(text) or not text


# -- prices
# -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("gpt-4o", "gpt-4o"),
        ("gpt-4o-2024-08-06", "gpt-4o"),
        ("gpt-4o-mini", "gpt-4o-mini"),
        ("gpt-4o-mini-2024-07-18", "gpt-4o-mini"),
        ("claude-3-5-haiku-latest", "claude-3-5-haiku"),
        ("claude-haiku-4-5-20251001", "claude-haiku-4-5"),
        ("claude-haiku-4-5@20251001", "claude-haiku-4-5"),
        ("claude-haiku-4-5-20251001-v1:0", "claude-haiku-4-5"),
        ("claude-opus-5-5", "claude-opus-5-5"),
    ],
)
def test_a_price_is_found_by_the_name_and_its_dates(model, name):
    assert price_of(model) is PRICES[name]


@pytest.mark.parametrize(
    "model", ["", "llama3", "gpt-4", "gpt-6-luna-fast", "gpt-5.99", "gpt-4oo", "claude-opus-5-9"]
)
def test_a_model_that_is_not_in_the_table_has_no_price(model):
    assert price_of(model) is None and cost_usd(model, 10, 10) is None


def test_a_cost_is_per_million_and_long_prompts_may_cost_more():
    prices = {"m": Price(2.0, 10.0, 1000, 4.0, 20.0)}
    assert cost_usd("m", 1000, 100, prices) == pytest.approx(0.003)
    assert cost_usd("m", 1001, 100, prices) == pytest.approx(0.006004)


def test_the_table_makes_sense():
    for name, price in PRICES.items():
        assert 0 < price.input < price.output, name
        if price.long_from is not None:
            assert price.input < price.long_input < price.long_output, name
