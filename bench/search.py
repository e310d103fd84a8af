"""Search at several sizes, beside plain FTS5, rank-bm25 and tantivy, in one process and one run."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path

import apsw

from bench.corpus import Corpus, memory, plain_text
from bench.report import percentiles, table
from rlm.store.open import open_store
from rlm.store.types import Tenant

OTHER_SHARE = 10  # every tenth memory belongs to another project


def run(folder: Path, sizes: list[int], queries: int = 200) -> str:
    head = ("engine", "p50 ms", "p99 ms", "p50 ÷ plain FTS5", "p50 ÷ tantivy", "build s")
    note = (
        "Top 10 for eight-word queries, words drawn as the memories' own are, common ones included."
        " `rlm` does tenancy (every tenth memory is another project's), ranking and fusion; the"
        " peers rank words only. Plain FTS5 is one column and `MATCH 'a OR b …' ORDER BY rank`."
    )
    return "\n".join(
        f"## Search in {size:,} memories\n\n{note}\n\n"
        f"{table(head, _one(folder / f'search{size}', size, queries))}\n"
        for size in sizes
    )


BANDS = ((0, 300), (30, 1_000), (200, 3_000), (1_000, 8_000), (3_000, 20_000))


def by_rarity(folder: Path, size: int = 100_000, queries: int = 100) -> str:
    """The same race with words of one rarity at a time: FTS5 is as slow as its words are common, we
    are not."""
    folder.mkdir(parents=True)
    corpus = Corpus(size)
    rows = []
    with open_store(folder / "rlm.db") as db:
        for chunk in corpus.draws():
            db.add_many(memory(words) for words in chunk)
        ask_plain = _plain_table(folder, corpus)
        for low, high in BANDS:
            asked = corpus.queries_between(low, high, queries)
            ours, _ = percentiles(lambda q: db.retrieve(q, k=10), asked)
            plain, _ = percentiles(ask_plain, asked)
            rows.append(
                (f"{low:,} to {high:,}", f"{ours:.2f}", f"{plain:.2f}", f"{ours / plain:.2f}")
            )
    head = ("words by rank", "rlm, fused, p50 ms", "plain FTS5 p50 ms", "ratio")
    return f"## Search in {size:,} memories, by how common the words are\n\n{table(head, rows)}\n"


def _one(folder: Path, size: int, queries: int) -> list[tuple[str, ...]]:
    folder.mkdir(parents=True)
    corpus = Corpus(size)
    asked = corpus.queries(queries)
    results = []
    started = time.perf_counter()
    mine, theirs = Tenant("o", "t", "mine"), Tenant("o", "t", "theirs")
    with (
        open_store(folder / "rlm.db", tenant=mine) as db,
        open_store(folder / "rlm.db", tenant=theirs) as other,
    ):
        for chunk in corpus.draws():
            db.add_many(memory(words) for n, words in enumerate(chunk) if n % OTHER_SHARE)
            other.add_many(memory(words) for n, words in enumerate(chunk) if not n % OTHER_SHARE)
        built = time.perf_counter() - started
        results.append(("rlm, fused", *percentiles(lambda q: db.retrieve(q, k=10), asked), built))
    with open_store(folder / "rlm.db", tenant=mine, embedder="none") as db:
        results.append(
            ("rlm, words only", *percentiles(lambda q: db.retrieve(q, k=10), asked), built)
        )
    plain = _plain_fts5(folder, corpus, asked)
    results.append(plain)
    if size <= 100_000:
        results.append(_rank_bm25(corpus, asked[:20]))
    peer = _tantivy(folder, corpus, asked)
    results.append(peer)
    return [
        (
            name,
            f"{p50:.2f}",
            f"{p99:.2f}",
            f"{p50 / plain[1]:.2f}",
            f"{p50 / peer[1]:.2f}",
            f"{built:.1f}",
        )
        for name, p50, p99, built in results
    ]


def _plain_fts5(folder: Path, corpus: Corpus, asked: list[str]) -> tuple[str, float, float, float]:
    started = time.perf_counter()
    ask = _plain_table(folder, corpus)
    built = time.perf_counter() - started
    return ("plain FTS5 OR", *percentiles(ask, asked), built)


def _plain_table(folder: Path, corpus: Corpus) -> Callable[[str], object]:
    connection = apsw.Connection(str(folder / "plain.db"))
    connection.execute("PRAGMA journal_mode=wal").fetchall()
    connection.execute("PRAGMA cache_size=-65536; PRAGMA mmap_size=1073741824").fetchall()
    connection.execute("CREATE VIRTUAL TABLE plain USING fts5(body, tokenize='porter unicode61')")
    with connection:
        for chunk in corpus.draws():
            connection.executemany(
                "INSERT INTO plain(body) VALUES (?)", ((plain_text(words),) for words in chunk)
            )

    def ask(query: str) -> object:
        match = " OR ".join(f'"{word}"' for word in query.split())
        sql = "SELECT rowid, body FROM plain WHERE plain MATCH ? ORDER BY rank LIMIT 10"
        return connection.execute(sql, (match,)).fetchall()

    return ask


def _rank_bm25(corpus: Corpus, asked: list[str]) -> tuple[str, float, float, float]:
    from rank_bm25 import BM25Okapi

    started = time.perf_counter()
    texts = [re.findall(r"\w+", plain_text(words)) for chunk in corpus.draws() for words in chunk]
    index = BM25Okapi(texts)
    built = time.perf_counter() - started

    def ask(query: str) -> object:
        scores = index.get_scores(query.split())
        return scores.argpartition(-10)[-10:]

    return ("rank-bm25", *percentiles(ask, asked, warm=1), built)


def _tantivy(folder: Path, corpus: Corpus, asked: list[str]) -> tuple[str, float, float, float]:
    import tantivy

    started = time.perf_counter()
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("body", stored=True, tokenizer_name="en_stem")
    (folder / "tantivy").mkdir()
    index = tantivy.Index(builder.build(), path=str(folder / "tantivy"))
    writer = index.writer(heap_size=256_000_000, num_threads=1)
    for chunk in corpus.draws():
        for words in chunk:
            writer.add_document(tantivy.Document(body=plain_text(words)))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    built = time.perf_counter() - started
    searcher = index.searcher()

    def ask(query: str) -> object:
        found = searcher.search(index.parse_query(query, ["body"]), 10)
        return [searcher.doc(address) for _, address in found.hits]

    return ("tantivy", *percentiles(ask, asked), built)
