"""An index of words for large stores: tantivy, in the cache folder.

FTS5 takes 90 ms for eight common words in 100,000 rows, tantivy 2. So above `LARGE` live rows a
tantivy index lies beside the ontology cache. It is derived and may be deleted at any time. It is
valid up to a row number that is committed together with its documents; newer rows are found by
FTS5. Whoever writes and notices that it lags brings it up to date; a killed process leaves the
last commit. Whoever builds one removes those whose store is gone. Missing, locked or broken, it is
left alone, FTS5 serves all rows, and `rlm doctor` says so.

Every stem is prefixed with its space, so that a document frequency is the tenant's own and no
filter is needed. A row that has died stays in the index until it is rebuilt; recall reads each
candidate's row, so a dead one is never a hit. Document frequencies are scaled down by the share of
a space's documents that still live: the dead are taken to have had the words of the others.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rlm.retrieval.tokens import tokens
from rlm.store.sql.dialect import fetch
from rlm.store.sql.sources import Source
from rlm.store.sqlite.connection import SQLiteDatabase

if TYPE_CHECKING:
    import tantivy

LARGE = 20_000
"""Live rows from which the index pays for itself."""
LAG = 512
"""So many new rows are left to FTS5 before somebody catches up: a small commit takes 26 ms."""
DEAD_SHARE = 0.25
"""With more dead documents than this the index is rebuilt."""
PAGE = 4_096
HEAP_BYTES = 64_000_000
TERM_CHARS = 200
BODY_COLUMNS = 2
HEAD_TIMES = 4
"""A word of the head counts more often, as recall weighs it more: see docs/experiments.md."""
OWNER = "store"
"""The file of an index that says which store it belongs to."""
EVERY = ""
"""What stands for a stem in every document of a space, to count them: no stem is empty."""


class WordIndex:
    """The index of one kind of row of one file. All methods are safe where there is none."""

    def __init__(self, database: SQLiteDatabase, source: Source, folder: Path) -> None:
        self._db = database
        self._source = source
        self._store = str(database.path.resolve())
        self._folder = folder / "index" / _folder_name(self._store, source.kind)
        self._opened: tuple[tantivy.Index, tantivy.Searcher] | None = None
        self._note: dict[str, Any] = {}
        self._seen: int | None = None
        self.problem: str | None = None
        """Why there is no index though one is wanted, for `rlm doctor`."""

    # -- reading ---------------------------------------------------------------------------------

    def upto(self) -> int:
        """The row number up to which the index answers; 0 where there is none."""
        try:
            changed = (self._folder / "meta.json").stat().st_mtime_ns
        except OSError:
            self._forget()
            return 0
        if changed != self._seen:
            self._reload()
            self._seen = changed
        return int(self._note.get("upto", 0))

    def _forget(self) -> None:
        self._opened, self._note, self._seen = None, {}, None

    def count_holding(self, live: Mapping[int, int], terms: Sequence[str]) -> dict[str, int] | None:
        """In how many live documents each term is, about; None where it cannot be read.

        `live` are the tenant's spaces, and how many rows of each live among those indexed.
        """
        assert self._opened is not None
        _, searcher = self._opened
        with self._giving_up():
            known = {space: searcher.doc_freq("words", _term(space, EVERY)) for space in live}
            # An index of an earlier rlm did not count: then all of it lives.
            shares = {space: count / max(count, known[space]) for space, count in live.items()}
            return {
                term: round(
                    sum(
                        share * searcher.doc_freq("words", _term(space, term))
                        for space, share in shares.items()
                    )
                )
                for term in terms
            }
        return None

    def find(
        self, spaces: Sequence[int], weights: Mapping[str, float], count: int
    ) -> dict[int, float] | None:
        """The best documents that hold one of these terms, by number, with their BM25; None where
        the index cannot be read."""
        import tantivy

        assert self._opened is not None
        index, searcher = self._opened
        schema, wanted = index.schema, []
        with self._giving_up():
            for space in spaces:
                for term in weights:
                    query = tantivy.Query.term_query(schema, "words", _term(space, term), "freq")
                    wanted.append((tantivy.Occur.Should, query))
            found = searcher.search(tantivy.Query.boolean_query(wanted), count, count=False).hits
            numbers = searcher.fast_field_values("number", [address for _, address in found])
            return {int(n or 0): score for n, (score, _) in zip(numbers, found, strict=True)}
        return None

    @contextmanager
    def _giving_up(self, *, writing: bool = False) -> Iterator[None]:
        """Whatever is wrong with the index, FTS5 serves. A panic of tantivy is no Exception."""
        try:
            yield
        except (KeyboardInterrupt, SystemExit, GeneratorExit):
            raise
        except BaseException as exc:
            if not writing:
                self._opened, self._note = None, {}
            self.problem = f"the index cannot be used: {str(exc)[:200] or type(exc).__name__}"

    def _reload(self) -> None:
        import tantivy

        self._opened, self._note = None, {}
        with self._giving_up():
            index = _open(self._folder)
            index.reload()
            searcher = index.searcher()
            query = tantivy.Query.term_query(index.schema, "note", "note")
            found = searcher.search(query, 1).hits
            if not found:
                return
            note = json.loads(searcher.doc(found[0][1])["state"][0])
            if not self._is_ours(note):
                self.problem = "the index is of an earlier state of this file"
                return
            self._opened, self._note, self.problem = (index, searcher), note, None

    def _is_ours(self, note: dict[str, Any]) -> bool:
        """Whether the index was made of this very file: a file may be replaced by an older one."""
        if note.get("store") != self._db.value("SELECT value FROM meta WHERE key = 'store_id'"):
            return False
        sql = "SELECT value FROM counters WHERE name = ?"
        if note["upto"] > self._db.value(sql, (self._source.counter,)):
            return False
        known = ((self._name(number), name) for number, name in note["sample"])
        return all(found in (None, name) for found, name in known)

    def _name(self, number: int) -> str | None:
        """The id of a row, None if it is gone."""
        sql = f"SELECT {self._source.id} FROM {self._source.table} WHERE {self._source.key} = ?"
        found = self._db.value(sql, (number,))
        return None if found is None else str(found)

    # -- catching up -----------------------------------------------------------------------------

    def catch_up(self, count_live: Callable[[], int], *, force: bool = False) -> bool:
        """Index the rows that came since, if they are many or `force` says so; whether it was done.

        `count_live` gives the live rows of the whole file. Not inside a write: what is indexed must
        be committed. Somebody else may be at it: then this is left to them.
        """
        if self._db.in_memory:
            return False
        sql = "SELECT value FROM counters WHERE name = ?"
        last = int(self._db.value(sql, (self._source.counter,)))
        if last < LARGE or last - (upto := self.upto()) < (1 if force else LAG):
            return False
        if (live := count_live()) < LARGE:
            return False
        with self._giving_up(writing=True):  # locked by another writer, or no space
            self._write(upto, last, live)
            return True
        return False

    def rebuild(self, count_live: Callable[[], int]) -> bool:
        """Rebuild the index from scratch, if the store is large enough to want one."""
        self.drop()
        return self.catch_up(count_live, force=True)

    def drop(self) -> None:
        """Throw the index away."""
        self._forget()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _write(self, upto: int, last: int, live: int) -> None:
        dead = int(self._note.get("documents", 0)) - live
        if dead > DEAD_SHARE * live:
            upto = 0
        writer = self._new_writer()  # before anything goes: another one may be at it
        documents = int(self._note.get("documents", 0)) if upto else 0
        sample: list[tuple[int, str | None]] = []
        try:
            if not upto:
                _remove_orphans(self._folder.parent)
                writer.delete_all_documents()
            for page in self._pages(upto, last):
                for number, space, *columns in page:
                    writer.add_document(_document(number, space, columns))
                documents += len(page)
                sample.append((page[-1][0], self._name(page[-1][0])))
            self._commit(writer, {"upto": last, "documents": documents, "sample": sample[-4:]})
        except BaseException:
            if not upto:  # nothing of it is good, and nobody else writes
                self.drop()
            with suppress(Exception):
                writer.rollback()
            raise
        self.upto()

    def _new_writer(self) -> tantivy.IndexWriter:
        """ValueError where somebody else is writing. An index that cannot be opened is dropped."""
        for again in (True, False):
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            (self._folder / OWNER).write_text(self._store, "utf-8")
            try:
                index = _open(self._folder)
                break
            except BaseException as exc:  # a panic of tantivy is no Exception
                if isinstance(exc, KeyboardInterrupt | SystemExit) or not again:
                    raise
                self.drop()
        return index.writer(HEAP_BYTES, 1)

    def _commit(self, writer: tantivy.IndexWriter, note: dict[str, Any]) -> None:
        import tantivy

        note["store"] = self._db.value("SELECT value FROM meta WHERE key = 'store_id'")
        writer.delete_documents_by_term("note", "note")
        writer.add_document(
            tantivy.Document(number=0, words="", note="note", state=json.dumps(note))
        )
        writer.commit()
        writer.wait_merging_threads()  # else they are given up, and each commit leaves a segment

    def _pages(self, upto: int, last: int) -> Iterator[list[tuple[Any, ...]]]:
        source = self._source
        sql = (
            f"SELECT {source.key}, space_id, {source.column_list} FROM {source.view} WHERE"
            f" {source.key} > ? AND {source.key} <= ? ORDER BY {source.key} LIMIT {PAGE}"
        )
        while True:
            with self._db.read() as connection:
                page = fetch(connection, sql, (upto, last))
            if not page:
                return
            yield page
            upto = page[-1][0]


def _folder_name(store: str, kind: str) -> str:
    return f"{hashlib.sha256(store.encode()).hexdigest()[:16]}-{kind}"


def _remove_orphans(indexes: Path) -> None:
    """Remove the indexes of stores that are gone: each names its store, and is named after it."""
    for owner in indexes.glob(f"*/{OWNER}"):
        with suppress(OSError, ValueError):
            store, kind = owner.read_text("utf-8"), owner.parent.name.rpartition("-")[2]
            if owner.parent.name == _folder_name(store, kind) and not Path(store).exists():
                shutil.rmtree(owner.parent)


def _term(space: int, stem: str) -> str:
    return f"{space}_{stem[:TERM_CHARS]}"


def _document(number: int, space: int, columns: Sequence[str]) -> tantivy.Document:
    import tantivy

    head, body = " ".join(columns[:-BODY_COLUMNS]), " ".join(columns[-BODY_COLUMNS:])
    stems = tokens(head) * HEAD_TIMES + tokens(body)
    words = " ".join([_term(space, stem) for stem in (EVERY, *stems)])
    return tantivy.Document(number=number, words=words)


def _open(folder: Path) -> tantivy.Index:
    import tantivy

    schema = (
        tantivy.SchemaBuilder()
        .add_integer_field("number", fast=True)
        .add_text_field("words", tokenizer_name="stems", index_option="freq")
        .add_text_field("note", tokenizer_name="raw", index_option="basic")
        .add_text_field("state", stored=True, tokenizer_name="raw", index_option="basic")
        .build()
    )
    index = tantivy.Index(schema, path=str(folder), reuse=True)
    index.config_reader("manual")  # else a thread watches the folder
    analyzer = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()
    index.register_tokenizer("stems", analyzer)
    return index
