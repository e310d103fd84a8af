"""Sign codes, their distances and the nearest of them, against the plainest way to compute each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rlm.retrieval.codes import CHUNK, hamming, nearest, sign_codes

CHECK = settings(deadline=None, database=None, max_examples=80)


def random_vectors(count: int, dim: int, seed: int = 0) -> NDArray[np.float32]:
    return np.random.default_rng(seed).standard_normal((count, dim)).astype(np.float32)


def by_column(codes: NDArray[np.uint64]) -> list[NDArray[np.uint64]]:
    return list(np.ascontiguousarray(codes.T))


@CHECK
@given(st.integers(0, 5), st.integers(1, 400), st.integers(0, 10_000))
def test_bit_i_says_that_dimension_i_is_positive(count: int, dim: int, seed: int) -> None:
    vectors = random_vectors(count, dim, seed)
    codes = sign_codes(vectors)
    assert codes.dtype == np.uint64 and codes.shape == (count, -(-dim // 64))
    for row, code in zip(vectors, codes, strict=True):
        bits = [int(code[i // 64]) >> (i % 64) & 1 for i in range(len(code) * 64)]
        assert bits == [int(value > 0) for value in row] + [0] * (len(bits) - dim)


def test_zero_and_nan_are_not_positive() -> None:
    assert sign_codes(np.array([[0.0, -0.0, np.nan, 1.0]], np.float32)).tolist() == [[8]]


@CHECK
@given(
    st.integers(1, 40),
    st.sampled_from([3, 64, 100, 128, 192, 256, 257, 384, 1024]),
    st.integers(0, 10_000),
)
def test_distances_count_the_signs_that_differ(count: int, dim: int, seed: int) -> None:
    vectors = random_vectors(count, dim, seed)
    codes = sign_codes(vectors)
    found = hamming(by_column(codes), codes[0])
    assert found.dtype == (np.uint8 if dim <= 256 else np.uint16)
    assert found.tolist() == ((vectors > 0) != (vectors[0] > 0)).sum(axis=1).tolist()


@pytest.mark.parametrize(
    ("dim", "farthest"), [(64, 64), (192, 192), (256, 255), (320, 320), (1024, 1024)]
)
def test_the_exact_opposite_is_the_farthest(dim: int, farthest: int) -> None:
    vectors = np.ones((4, dim), np.float32)
    vectors[1] = -1
    vectors[2, 1:] = -1  # one bit less than the opposite
    vectors[3, dim - 64 :] = -1  # one whole word: 64, also in the last column
    codes = sign_codes(vectors)
    assert hamming(by_column(codes), codes[0]).tolist() == [0, farthest, dim - 1, 64]


def test_the_seams_between_chunks_do_not_show() -> None:
    rng = np.random.default_rng(5)
    size = 2 * CHUNK + 7
    columns = [rng.integers(0, 2**64, size, np.uint64) for _ in range(4)]
    code = rng.integers(0, 2**64, 4, np.uint64)
    plain = sum(
        np.bitwise_count(column ^ word).astype(np.int64)
        for column, word in zip(columns, code, strict=True)
    )
    assert np.array_equal(hamming(columns, code), plain)


def test_no_codes_no_distances() -> None:
    codes = sign_codes(np.empty((0, 256), np.float32))
    assert len(hamming(by_column(codes), np.zeros(4, np.uint64))) == 0
    assert len(nearest(np.empty(0, np.uint8), 5)) == 0


def test_columns_that_do_not_fit_the_code_are_refused() -> None:
    column = np.zeros(3, np.uint64)
    with pytest.raises(ValueError, match="2 columns"):
        hamming([column, column], np.zeros(3, np.uint64))
    with pytest.raises(ValueError, match="one length"):
        hamming([column, column[:2]], np.zeros(2, np.uint64))
    with pytest.raises(ValueError):
        hamming([], np.zeros(0, np.uint64))


@CHECK
@given(
    st.lists(st.integers(0, 255), max_size=60),
    st.integers(-1, 70),
    st.sampled_from([np.uint8, np.uint16]),
    st.sampled_from([1, 40]),
)
@example([7, 7, 7], -1, np.uint8, 1)
def test_the_nearest_come_in_order_of_distance_then_position(
    values: list[int], count: int, kind: type[np.uint8] | type[np.uint16], spread: int
) -> None:
    distances: Any = np.array([value // spread for value in values], kind)
    expected = sorted(range(len(values)), key=lambda place: (int(distances[place]), place))[
        : max(count, 0)
    ]
    assert nearest(distances, count).tolist() == expected


def test_wide_distances_are_ordered_too() -> None:
    distances = np.random.default_rng(1).integers(0, 1025, 5000).astype(np.uint16)
    assert np.array_equal(nearest(distances, 300), np.argsort(distances, kind="stable")[:300])
