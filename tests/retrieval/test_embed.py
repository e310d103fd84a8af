"""The embedders: the static one on its real files, the endpoint against a real HTTP server."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
import threading
import time
import traceback
import unicodedata
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from shutil import copy
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from safetensors.numpy import load_file

import rlm
from rlm import clock
from rlm.errors import ConfigError, ModelError
from rlm.retrieval.bpe import Vocabulary, split_words
from rlm.retrieval.embed import pick_embedder
from rlm.retrieval.endpoint import MAX_CHARS, EndpointEmbedder, _retry_after
from rlm.retrieval.static import BULK_TEXTS, STATIC_MODEL, StaticEmbedder

Floats = NDArray[np.float32]

CHECK = settings(deadline=None, database=None, max_examples=60)
PIP = 'pip install "wordllama>=0.4.0"'
KEY = "sk-secret-0123456789"
TEXTS = [
    "reset a customer's password",
    "Größe und Straße",
    "色は匂へど 👩‍👩‍👧‍👦",
    "",
    "  \n",
    "x" * 90,
    "a b a b",
]


# -- the static embedder ---------------------------------------------------------------------------


@cache
def folder() -> Path:
    spec = importlib.util.find_spec("wordllama")
    assert spec is not None
    assert spec.submodule_search_locations
    return Path(spec.submodule_search_locations[0])


@cache
def vocabulary() -> Vocabulary:
    return Vocabulary.load(folder() / "tokenizers" / "l2_supercat_tokenizer_config.json")


@cache
def table() -> Floats:
    """The token vectors as the experiment defines them, computed another way."""
    raw = load_file(folder() / "weights" / "l2_supercat_256.safetensors")[
        "embedding.weight"
    ].astype(np.float32)
    names = json.loads(
        (folder() / "tokenizers" / "l2_supercat_tokenizer_config.json").read_text("utf-8")
    )
    for token, number in names["model"]["vocab"].items():
        length = float(np.linalg.norm(raw[number]))
        factor = min(1.0, 13.5 / length) if length else 1.0
        if not token.startswith("\u2581") and any(char.isalnum() for char in token):
            factor *= 0.7
        raw[number] *= factor
    return raw


@cache
def shared() -> StaticEmbedder:
    return StaticEmbedder()


def tokens_of(text: str) -> set[int]:
    """Distinct tokens, one word at a time."""
    found: set[int] = set()
    for word in split_words(unicodedata.normalize("NFKC", text.replace("_", " "))):
        parts = (
            re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", word).lower().split()
        )
        found.update(number for part in parts for number in vocabulary().encode_word(part))
    return found


def plain(head: str, body: str = "") -> Floats:
    first = tokens_of(head[:2000])
    rest = tokens_of(body[:1000]) - first
    out = table()[sorted(first)].sum(axis=0) + table()[sorted(rest)].sum(axis=0) * min(
        1.0, 12 / max(1, len(rest))
    )
    length = float(np.linalg.norm(out))
    return out / length if length else out


def in_bulk(embedder: StaticEmbedder, documents: list[tuple[str, str]]) -> Floats:
    """The same documents, with enough others beside them to take the other path."""
    return embedder.embed_documents(documents + [("filler", "")] * BULK_TEXTS)[: len(documents)]


def test_a_vector_is_what_the_experiment_says() -> None:
    got = shared().embed(TEXTS)
    assert got.dtype == np.float32
    for text, row in zip(TEXTS, got, strict=True):
        np.testing.assert_allclose(row, plain(text), atol=1e-5)
    assert not got[3].any()
    assert not got[4].any()


@CHECK
@given(st.lists(st.tuples(st.text(max_size=60), st.text(max_size=80)), min_size=1, max_size=6))
def test_one_by_one_in_bulk_and_by_hand_are_the_same(documents: list[tuple[str, str]]) -> None:
    few = shared().embed_documents(documents)
    np.testing.assert_allclose(few, in_bulk(shared(), documents), atol=1e-5)
    np.testing.assert_allclose(few, [plain(*document) for document in documents], atol=1e-5)


def test_a_long_body_does_not_drown_the_head() -> None:
    head, body = (
        "rotate the signing key",
        " ".join(
            f"walk dog water plant {w} lunch"
            for w in [
                "red",
                "blue",
                "green",
                "pink",
                "brown",
                "black",
                "white",
                "gold",
                "grey",
                "lime",
                "teal",
                "plum",
                "rust",
                "sand",
                "snow",
                "wine",
            ]
        ),
    )
    alone, both, mixed = shared().embed_documents(
        [(head, ""), (head, body), ("", f"{head} {body}")]
    )
    assert alone @ both > alone @ mixed


def test_repeating_a_word_and_its_case_change_nothing() -> None:
    one, two, three = shared().embed(
        ["merge the branch", "merge merge the the branch", "MERGE The Branch"]
    )
    np.testing.assert_allclose(one, two, atol=1e-6)
    np.testing.assert_allclose(one, three, atol=1e-6)


def test_names_are_taken_apart() -> None:
    one, two = shared().embed(["parseHttpServer max_retries", "parse http server max retries"])
    np.testing.assert_allclose(one, two, atol=1e-6)


def test_texts_are_cut() -> None:
    head, body = "word " * 400, "text " * 200
    got = shared().embed_documents([(head, body), (head + "zebra", body + "zebra")])
    np.testing.assert_allclose(got[0], got[1], atol=1e-6)


def test_no_texts_no_rows() -> None:
    assert shared().embed([]).shape == (0, 256)


def test_threads_share_one_embedder() -> None:
    fresh = StaticEmbedder()
    batches = [
        [f"text {n} of batch {b} about w{n * b}" for n in range(40 + 30 * (b % 3))]
        for b in range(24)
    ]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(fresh.embed, batches))
    for batch, vectors in zip(batches, found, strict=True):
        np.testing.assert_allclose(vectors, [plain(text) for text in batch], atol=1e-5)


def run_python(code: str, *, path: list[Path], cwd: Path, flags: tuple[str, ...] = ()) -> str:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path))}
    done = subprocess.run(
        [sys.executable, *flags, "-c", code],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=env,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


SOURCE = Path(rlm.__file__).parents[1]
EMBED_ONE = (
    "from rlm.retrieval.static import StaticEmbedder as S; print(S().embed(['hello']).any(),"
    " end=' ');"
)


def test_neither_wordllama_nor_tokenizers_nor_httpx_is_imported(tmp_path: Path) -> None:
    code = EMBED_ONE + "import sys; print({'wordllama', 'tokenizers', 'httpx'} & set(sys.modules))"
    assert run_python(code, path=[SOURCE], cwd=tmp_path) == "True set()"


def test_a_folder_of_the_same_name_does_not_hide_the_model(tmp_path: Path) -> None:
    (tmp_path / "wordllama").mkdir()
    (tmp_path / "wordllama" / "__init__.py").touch()
    assert run_python(EMBED_ONE, path=[tmp_path, SOURCE], cwd=tmp_path) == "True"


def test_without_wordllama_the_error_holds_the_install_line(tmp_path: Path) -> None:
    for entry in folder().parent.iterdir():
        if not entry.name.startswith("wordllama"):
            (tmp_path / entry.name).symlink_to(entry)
    code = f"from rlm import ModelError\ntry: {EMBED_ONE}\nexcept ModelError as exc: print(exc)"
    assert PIP in run_python(code, path=[tmp_path, SOURCE], cwd=tmp_path, flags=("-S",))


def damage_weights(copied: Path, change: Callable[[bytes], bytes]) -> None:
    path = copied / "weights" / "l2_supercat_256.safetensors"
    path.write_bytes(change(path.read_bytes()))


def damage_header(copied: Path, **changes: Any) -> None:
    def change(raw: bytes) -> bytes:
        length = int.from_bytes(raw[:8], "little")
        header = json.loads(raw[8 : 8 + length])
        header["embedding.weight"].update(changes)
        text = json.dumps(header).encode()
        return len(text).to_bytes(8, "little") + text + raw[8 + length :]

    damage_weights(copied, change)


def copy_model(target: Path) -> None:
    for name in (
        "tokenizers/l2_supercat_tokenizer_config.json",
        "weights/l2_supercat_256.safetensors",
    ):
        (target / name).parent.mkdir()
        copy(folder() / name, target / name)


def test_rewriting_the_files_does_no_harm(tmp_path: Path) -> None:
    copy_model(tmp_path)
    damage_header(tmp_path)
    assert StaticEmbedder(tmp_path).embed(["hello"]).any()


@pytest.mark.parametrize(
    "damage",
    [
        lambda copied: (copied / "weights" / "l2_supercat_256.safetensors").unlink(),
        lambda copied: (copied / "tokenizers" / "l2_supercat_tokenizer_config.json").unlink(),
        lambda copied: (copied / "tokenizers" / "l2_supercat_tokenizer_config.json").write_text(
            "<html>"
        ),
        lambda copied: damage_weights(copied, lambda raw: raw[:5_000_000]),
        lambda copied: damage_weights(copied, lambda raw: b""),
        lambda copied: damage_weights(copied, lambda raw: b"\xff" * 8 + raw[8:]),
        lambda copied: damage_weights(copied, lambda raw: raw[:8] + b"?" * 200),
        lambda copied: damage_header(copied, dtype="BF16"),
        lambda copied: damage_header(copied, shape=[32000, 128]),
        lambda copied: damage_header(copied, data_offsets=None),
    ],
)
def test_damaged_files_are_a_model_error_with_the_install_line(
    tmp_path: Path, damage: Callable[[Path], object]
) -> None:
    copy_model(tmp_path)
    damage(tmp_path)
    with pytest.raises(ModelError) as caught:
        StaticEmbedder(tmp_path).embed(["hello"])
    assert PIP in str(caught.value) and str(tmp_path) in str(caught.value)


# -- the choice ------------------------------------------------------------------------------------


def test_picking() -> None:
    static = pick_embedder("static")
    assert isinstance(static, StaticEmbedder) and (static.model, static.dim) == (STATIC_MODEL, 256)
    assert pick_embedder("none") is None
    endpoint = pick_embedder("endpoint", url="http://127.0.0.1:1/v1", model="m")
    assert isinstance(endpoint, EndpointEmbedder) and (endpoint.model, endpoint.dim) == ("m", 0)


@pytest.mark.parametrize(
    ("kind", "url", "model", "words"),
    [
        ("magic", "", "", ("'magic'", "static", "endpoint", "none")),
        ("endpoint", "", "m", ("RLM_EMBED_URL",)),
        ("endpoint", "http://h/v1", "", ("RLM_EMBED_MODEL",)),
        ("endpoint", "localhost:8080", "m", ("RLM_EMBED_URL",)),
        ("endpoint", "ftp://h/v1", "m", ("RLM_EMBED_URL",)),
        ("endpoint", "http://h:port/v1", "m", ("RLM_EMBED_URL",)),
    ],
)
def test_choices_that_cannot_work(kind: str, url: str, model: str, words: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError) as caught:
        pick_embedder(kind, url=url, model=model)
    assert all(word in str(caught.value) for word in words)


@pytest.mark.parametrize("key", ["sk bad", "sk-\n", "sk-é"])
def test_a_key_that_cannot_be_sent_is_refused_and_not_shown(key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        EndpointEmbedder("http://127.0.0.1:1/v1", "m", key=key)
    assert key not in "".join(traceback.format_exception(caught.value))


# -- the endpoint ----------------------------------------------------------------------------------


def vectors_for(texts: list[str]) -> list[list[float]]:
    return [[float(len(text)), 1.0, -1.0] for text in texts]


def good(texts: list[str]) -> dict[str, Any]:
    """An answer as OpenAI gives it, with the rows in another order."""
    rows = [
        {"index": index, "embedding": vector} for index, vector in enumerate(vectors_for(texts))
    ]
    return {"object": "list", "data": rows[::-1]}


class Server:
    """A real server that plays a list of answers: (status, headers, body), None for a good one.

    The last answer is repeated. "hang" waits until the test is over, "drop" closes the connection.
    """

    def __init__(self) -> None:
        self.answers: list[Any] = [None]
        self.requests: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        self.arrivals: list[float] = []
        self.over = threading.Event()
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self.http.server_port}/v1"
        self.thread = threading.Thread(
            target=self.http.serve_forever, kwargs={"poll_interval": 0.01}
        )
        self.thread.start()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                server.arrivals.append(time.monotonic())
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                server.requests.append((self.path, dict(self.headers), body))
                place = min(len(server.requests), len(server.answers)) - 1
                server.play(self, server.answers[place], body["input"])

            def log_message(self, *_: object) -> None:
                pass

        return Handler

    def play(self, handler: BaseHTTPRequestHandler, answer: Any, texts: list[str]) -> None:
        if answer in ("hang", "drop"):
            if answer == "hang":
                self.over.wait(30)
            handler.close_connection = True
            return
        status, headers, body = answer or (200, {}, good(texts))
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        handler.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(raw))}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(raw)

    def close(self) -> None:
        self.over.set()
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    running = Server()
    yield running
    running.close()


def endpoint(server: Server, **options: Any) -> EndpointEmbedder:
    return EndpointEmbedder(
        server.url, "m-1", **{"key": KEY, "backoff_s": 0.001, "timeout_s": 10.0, **options}
    )


def failure(embedder: EndpointEmbedder, texts: list[str]) -> str:
    """The message of the error, after checking that it names the endpoint and hides the key."""
    with pytest.raises(ModelError) as caught:
        embedder.embed(texts)
    assert KEY[:12] not in "".join(traceback.format_exception(caught.value))
    message = str(caught.value)
    assert "127.0.0.1" in message and "'m-1'" in message and "RLM_EMBED_URL" in message
    return message


def rows(*pairs: tuple[Any, Any]) -> dict[str, Any]:
    return {"data": [{"index": index, "embedding": vector} for index, vector in pairs]}


def test_rows_follow_the_texts_across_batches(server: Server) -> None:
    texts = ["a", "bb", "ccc", "dddd", "eeeee"]
    embedder = endpoint(server, batch=2)
    found = embedder.embed(texts)
    expected = np.array(vectors_for(texts))
    np.testing.assert_allclose(
        found, expected / np.linalg.norm(expected, axis=1)[:, None], atol=1e-6
    )
    assert found.dtype == np.float32 and embedder.dim == 3
    assert [body for _, _, body in server.requests] == [
        {"model": "m-1", "input": part} for part in (["a", "bb"], ["ccc", "dddd"], ["eeeee"])
    ]
    path, headers, _ = server.requests[0]
    assert path == "/v1/embeddings" and headers["Authorization"] == f"Bearer {KEY}"


def test_without_a_key_none_is_sent_and_a_slash_at_the_end_is_fine(server: Server) -> None:
    EndpointEmbedder(server.url + "/", "m-1").embed(["a"])
    path, headers, _ = server.requests[0]
    assert path == "/v1/embeddings" and "Authorization" not in headers


def test_blank_texts_are_zero_rows_and_stay_here(server: Server) -> None:
    embedder = endpoint(server)
    assert embedder.embed(["", " \n"]).shape == (2, 0) and not server.requests
    found = embedder.embed(["", "a", "  ", "bb"])
    assert found.any(axis=1).tolist() == [False, True, False, True]
    assert server.requests[0][2]["input"] == ["a", "bb"]


def test_a_text_is_cut_and_a_lone_surrogate_replaced(server: Server) -> None:
    endpoint(server).embed(["é" * (MAX_CHARS + 1), "a\ud800b"])
    assert server.requests[0][2]["input"] == ["é" * MAX_CHARS, "a?b"]


@pytest.mark.parametrize(
    "first",
    [
        (429, {"Retry-After": "0"}, {}),
        (500, {}, b"oops"),
        (503, {"Retry-After": "soon"}, {}),
        "drop",
    ],
)
def test_a_busy_or_broken_server_is_tried_again(server: Server, first: Any) -> None:
    server.answers = [first, first, None]
    assert endpoint(server).embed(["a"]).any()
    assert len(server.requests) == 3


def test_a_retry_after_is_waited_for(server: Server) -> None:
    server.answers = [(429, {"Retry-After": "0.1"}, {}), None]
    assert endpoint(server, backoff_s=0.0).embed(["a"]).any()
    assert server.arrivals[1] - server.arrivals[0] >= 0.1


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("3", 3.0),
        ("0.5", 0.5),
        ("-4", 0.0),
        ("3600", 10.0),
        ("inf", 10.0),
        ("Fri, 02 Jan 2026 00:00:07 GMT", 7.0),
        ("Thu, 01 Jan 2026 00:00:07 GMT", 0.0),
        ("Fri, 02 Jan 2026 00:00:07 -0000", 99.0),
        ("soon", 99.0),
        ("nan", 99.0),
        ("", 99.0),
        (None, 99.0),
    ],
)
def test_a_retry_after_is_read_as_number_or_date(header: str | None, seconds: float) -> None:
    with clock.frozen(datetime(2026, 1, 2, tzinfo=UTC)):
        assert _retry_after(header, 99.0) == seconds


@pytest.mark.parametrize("status", [429, 500, 503])
def test_three_tries_and_no_more(server: Server, status: int) -> None:
    server.answers = [(status, {}, b"model is loading")]
    message = failure(endpoint(server), ["a"])
    assert str(status) in message and "model is loading" in message
    assert len(server.requests) == 3


@pytest.mark.parametrize("status", [302, 400, 401, 404])
def test_a_refusal_is_not_tried_again(server: Server, status: int) -> None:
    server.answers = [(status, {"Location": "/elsewhere"}, b"no")]
    assert str(status) in failure(endpoint(server), ["a"])
    assert len(server.requests) == 1


def test_a_server_that_repeats_the_key_does_not_show_it(server: Server) -> None:
    server.answers = [
        (401, {}, b"-" * 185 + KEY.encode())
    ]  # a cut before the hiding would show 15 of it
    assert "***" in failure(endpoint(server), ["a"])


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"<html>It works!</html>", "no usable answer"),
        (b"\xff\xfe\xff", "no usable answer"),
        (b"[" * 200_000, "no usable answer"),
        ([], "not a list of embeddings"),
        ({"error": "nope"}, "not a list of embeddings"),
        ({"data": [{"embedding": [1.0]}, {"embedding": [1.0]}]}, "not a list of embeddings"),
        (rows((0, [1.0]), ("1", [1.0])), "not a list of embeddings"),
        (rows((0, [1.0]), (1, [1.0, 2.0])), "not a list of embeddings"),
        ({"data": []}, "0 vectors for 2 texts"),
        (good(["a"]), "1 vectors for 2 texts"),
        (good(["a", "b", "c"]), "3 vectors for 2 texts"),
        (rows((0, [1.0]), (0, [1.0])), "numbered them wrongly"),
        (rows((0, ["1"]), (1, ["2"])), "lists of numbers"),
        (rows((0, []), (1, [])), "lists of numbers"),
        (rows((0, 1), (1, 2)), "lists of numbers"),
        (rows((0, [float("nan")]), (1, [1.0])), "NaN"),
        (rows((0, [float("inf")]), (1, [1.0])), "NaN or infinity"),
        (rows((0, [1e300]), (1, [1.0])), "NaN or infinity"),
    ],
)
def test_answers_that_are_not_embeddings(server: Server, body: Any, words: str) -> None:
    server.answers = [(200, {}, body)]
    embedder = endpoint(server)
    assert words in failure(embedder, ["a", "b"])
    assert len(server.requests) == 1 and embedder.dim == 0


def test_a_dimension_that_changes(server: Server) -> None:
    server.answers = [None, (200, {}, {"data": [{"index": 0, "embedding": [1.0, 2.0]}]})]
    embedder = endpoint(server)
    embedder.embed(["a"])
    assert "2 dimensions after 3" in failure(embedder, ["a"])


def test_a_body_that_cannot_be_decoded(server: Server) -> None:
    server.answers = [(200, {"Content-Encoding": "gzip"}, b"not gzip")]
    assert "no usable answer" in failure(endpoint(server), ["a"])


def test_a_server_that_hangs_is_asked_once(server: Server) -> None:
    server.answers = ["hang"]
    assert "within 0.2 s" in failure(endpoint(server, timeout_s=0.2), ["a"])
    assert len(server.requests) == 1


def test_nobody_listens(server: Server) -> None:
    server.close()
    assert "cannot be reached" in failure(endpoint(server), ["a"])


def test_a_password_in_the_url_is_not_shown(server: Server) -> None:
    server.answers = [(404, {}, b"")]
    embedder = EndpointEmbedder(server.url.replace("//", "//user:pa55@"), "m-1")
    assert "pa55" not in failure(embedder, ["a"])


def test_documents_are_sent_as_one_text_each(server: Server) -> None:
    embedder = endpoint(server)
    np.testing.assert_allclose(
        embedder.embed_documents([("head", "body"), ("only", "")]),
        embedder.embed(["head\nbody", "only"]),
    )


def test_a_store_with_an_endpoint_finds_by_meaning(server: Server, tmp_path: Path) -> None:
    """Three dimensions, so nothing here may lean on 256."""
    from rlm.store.open import open_store
    from rlm.store.types import MemoryItem

    with open_store(tmp_path / "m.db", embedder=endpoint(server)) as db:
        kept = db.add_many(
            MemoryItem(title=f"Item {n}", description="x", content=f"text {n}") for n in range(30)
        )
        hits = db.retrieve("item 7", k=30, explain=True)
        assert hits[0].item.memory_id == kept[7]
        assert all(hit.why.cosine is not None for hit in hits)
