"""One run of one command: which store, for whom, and in which form the answer goes out."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from rlm import config
from rlm.cli import output
from rlm.errors import (
    ConfigError,
    NotFound,
    StoreError,
    StoreFull,
    StoreLocked,
    StoreReadOnly,
)
from rlm.hook_settings import git_local_name, mirror_path, project_name

if TYPE_CHECKING:
    from rlm.store.backend import MemoryBackend
    from rlm.store.types import Tenant

T = TypeVar("T")
LOSABLE = (StoreLocked, StoreReadOnly, StoreFull)
"""What keeps a command that only reads from writing its access counts; it need not fail for it."""
PATIENCE_S = 0.25
"""How long a command that only reads waits for others who write."""
REFRESH_S = 300.0
"""How long a mirror is taken for what the server has, by whoever is not asked to look."""


@dataclass(frozen=True)
class Session:
    """What the common options said. Opens nothing by itself."""

    db: str | None = None
    json: bool = False
    project: str | None = None
    team: str | None = None
    org: str | None = None

    @cached_property
    def settings(self) -> config.Settings:
        """The settings in force, with the options on top."""
        return config.load(memory_db=self.db, project=self.project, team=self.team, org=self.org)

    @cached_property
    def tenant(self) -> Tenant:
        """Who asks. The project is the option, the setting, the git repository here, or `local`."""
        from rlm.store.types import Tenant

        project = project_name(self.settings.project)
        return Tenant(self.settings.org, self.settings.team, project)

    @property
    def kind(self) -> str:
        """The kind of the store."""
        return self._located[0]

    @property
    def path(self) -> Path | None:
        """The store's file; None where a server keeps it."""
        return self._located[1]

    @property
    def place(self) -> str:
        """How messages name the store: its file, or its URL without the password."""
        from rlm.store.open import show_store

        return show_store(self.settings.memory_db) if self.path is None else str(self.path)

    @cached_property
    def _located(self) -> tuple[str, Path | None]:
        from rlm.store.open import locate_store

        return locate_store(self.settings.memory_db)

    @property
    def mirror(self) -> Path | None:
        """What hooks read in the place of a server's store; None where the store is a file."""
        if self.path is not None:
            return None
        who = (self.tenant.org, self.tenant.team, self.tenant.project)
        return Path(mirror_path(self.settings.cache_dir, self.settings.memory_db, who))

    def mirror_is_due(self) -> bool:
        """Whether that is missing, or was not compared with the server for some minutes."""
        if self.mirror is None:
            return False
        try:
            return not 0 <= time.time() - self.mirror.stat().st_mtime <= REFRESH_S
        except OSError:
            return True

    def refresh_mirror(self, store: MemoryBackend) -> None:
        """Bring it up to date with the server, and say so where that fails: hooks do without."""
        if self.mirror is None:
            return
        from rlm.store.mirror import refresh_mirror

        try:
            refresh_mirror(store, self.mirror)
        except StoreError as exc:
            self.notify(f"the mirror for hooks was not refreshed: {exc}")

    @property
    def _missing(self) -> bool:
        return self.path is not None and not self.path.exists()

    def lacks_store(self) -> bool:
        """Whether there is no file yet; says so. A command that lists then lists nothing."""
        missing = self._missing
        if missing and lacks_folder(self.path):
            self._require()
        if missing:
            self.notify(f"there is no store at {self.place} yet: `rlm memory add` makes one")
        return missing

    def _require(self) -> None:
        """NotFound without a file; without its folder somebody has made a typing error."""
        if not self._missing:
            return
        if self.path is not None and lacks_folder(self.path):
            raise self._no_folder(self.path, self._named)
        why = f"there is no store at {self.place}: check --db, or make one with `rlm memory add`"
        raise NotFound(why)

    @property
    def _named(self) -> str:
        setting = "memory_db (RLM_MEMORY_DB)" if self.db is None else "--db"
        return f"{setting} {self.settings.memory_db if self.path else self.place}"

    @contextmanager
    def store(self) -> Iterator[MemoryBackend]:
        """The store, made if need be, and closed at the end."""
        from rlm.store.open import open_store

        self.require_folder(self.path, self._named)
        with open_store(self.settings.memory_db, tenant=self.tenant, origin="cli") as store:
            self.adopt(store)
            yield store

    def require_folder(self, path: Path | None, named: str) -> None:
        """Refuse a file in a missing folder, unless a person at the terminal has it made.

        `named` is what was typed: the option and its value.
        """
        if path is None or not lacks_folder(path):
            return
        folder = path.parent
        if self.json or not output.ask(f"There is no folder {folder}. Make it?"):
            raise self._no_folder(path, named)
        folder.mkdir(parents=True, exist_ok=True)

    @staticmethod
    def _no_folder(path: Path, named: str) -> ConfigError:
        folder = path.parent
        return ConfigError(f"{named}: there is no folder {folder}: {folder_hint(folder)}")

    @contextmanager
    def changing(self) -> Iterator[MemoryBackend]:
        """The store of a command that changes what is there: a missing file is NotFound."""
        self._require()
        with self.store() as store:
            yield store

    def adopt(self, store: MemoryBackend, *, wait_s: float | None = None) -> None:
        """A repository that got its first origin has a new name: its memories come along."""
        former = None if self.settings.project else git_local_name()
        if former is not None and store.adopt_project(former, wait_s=wait_s):
            self.notify(f"what was kept under {former} is now kept under {self.tenant.project}")

    @contextmanager
    def reading(self) -> Iterator[MemoryBackend]:
        """The store of a command that changes nothing: a missing file is NotFound.

        Access counts are written at the end if that is possible at once, and dropped otherwise: a
        search must not fail, or wait, because another process writes or the disk is full.
        """
        self._require()
        from rlm.store.open import open_store

        store = open_store(self.settings.memory_db, tenant=self.tenant, origin="cli")
        try:
            with suppress(*LOSABLE):
                self.adopt(store, wait_s=PATIENCE_S)
            yield store
        finally:
            with suppress(*LOSABLE):
                store.close()

    def show(self, document: Any, *lines: str) -> None:
        """The data of a command: one document with `--json`, these lines without."""
        if self.json:
            output.print_json(document)
            return
        for line in lines:
            output.print_text(line)

    def show_fields(self, document: Any, fields: Mapping[str, object] | None = None) -> None:
        """The data of a command: one document with `--json`, else a field to a line."""
        if self.json:
            output.print_json(document)
        else:
            output.print_fields(list((document if fields is None else fields).items()))

    def show_table(
        self,
        document: Any,
        headers: Sequence[str],
        rows: Sequence[Sequence[object]],
        prose: Sequence[str] = (),
    ) -> None:
        """The data of a command: one document with `--json`, else a table, if it has rows."""
        if self.json:
            output.print_json(document)
        elif rows:
            output.print_table(headers, rows, prose=prose)

    def list_rows(
        self,
        read: Callable[[MemoryBackend], list[T]],
        nothing: str | Callable[[MemoryBackend], str] = "",
        *,
        changes: bool = False,
    ) -> list[T]:
        """What a command lists, which may also change something. Without a store that is nothing;
        an empty list is said."""
        if self.lacks_store():
            return []
        with self.changing() if changes else self.reading() as store:
            found = read(store)
            if not found and not self.json and nothing:
                self.notify(nothing if isinstance(nothing, str) else nothing(store))
        return found

    def notify(self, message: str) -> None:
        """A message on stderr; with `--json` nothing is said."""
        if not self.json:
            output.notify(message)


def lacks_folder(path: Path | None) -> bool:
    """Whether a file's folder is missing; a dot folder of the home is made when it is needed."""
    if path is None:
        return False
    folder = path.parent
    return not folder.is_dir() and not (
        folder.parent == Path.home() and folder.name.startswith(".")
    )


def folder_hint(folder: Path) -> str:
    """What to do about a folder that is missing."""
    return f"`mkdir -p {shlex.quote(str(folder))}`, or check the spelling"


def elsewhere(store: MemoryBackend, what: str) -> str:
    """`38 in other projects: --project NAME`, after a semicolon; empty where there are none."""
    found = store.other_projects(what)
    if not found:
        return ""
    most, *others = found
    where = "in another project" if not others else f"in {len(found):,} other projects, most with"
    return f"; {sum(found.values()):,} {where}{'' if others else ':'} --project {shlex.quote(most)}"
