"""What the commands of `rlm ontology` have in common: a SOURCE, its views, and names of terms."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from rlm.cli import output
from rlm.cli.command import Decorator, lang_option, with_options
from rlm.cli.session import Session
from rlm.errors import ConfigError, NotFound, OntologyError

if TYPE_CHECKING:
    from rlm.ontology.engine.protocol import Engine, EngineLimits
    from rlm.ontology.views.views import Views

STDIN, STDIN_NAME = "-", "standard input"
STDIN_BYTES = 4 << 30
_ASKED = "rlm.cli.source"


@dataclass(frozen=True)
class OntologySource:
    """The files of one graph, or one named endpoint; and where imports are."""

    files: tuple[str, ...]
    imports: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return ", ".join(STDIN_NAME if name == STDIN else name for name in self.files)

    @contextmanager
    def spool(self) -> Iterator[OntologySource]:
        """The same with standard input as a file, which is removed at the end."""
        with ExitStack() as stack:
            if STDIN not in self.files:
                yield self
                return
            folder = stack.enter_context(TemporaryDirectory(prefix="rlm-stdin-"))
            path = Path(folder) / STDIN_NAME
            with path.open("wb") as file:
                shutil.copyfileobj(_Bounded(), file)
            names = dict.fromkeys(str(path) if name == STDIN else name for name in self.files)
            try:
                yield replace(self, files=tuple(names))
            except OntologyError as exc:  # says where it lies
                exc.args = tuple(str(part).replace(f"{folder}/", "") for part in exc.args)
                raise


class _Bounded:
    """Standard input, up to a size."""

    _left = STDIN_BYTES

    def read(self, size: int = -1) -> bytes:
        part = sys.stdin.buffer.read(size)
        self._left -= len(part)
        if self._left < 0:
            raise ConfigError(f"standard input holds more than {STDIN_BYTES >> 30} GiB: use a file")
        return part


def read_imports(given: tuple[str, ...]) -> dict[str, str]:
    """`IRI=FILE`, each. ConfigError for anything else."""
    found: dict[str, str] = {}
    for each in given:
        parts = re.fullmatch(r"<?([A-Za-z][A-Za-z0-9+.-]*:[^<>\s]*?)>?=(.+)", each)
        if parts is None:
            raise ConfigError(f"--import {each}: write IRI=FILE, as http://example.org/a=a.ttl")
        if not Path(parts[2]).expanduser().is_file():
            raise ConfigError(f"--import {each}: there is no file {parts[2]}")
        found[parts[1]] = parts[2]
    return found


def _keep_given(context: click.Context, param: click.Parameter, value: tuple[str, ...]) -> None:
    context.meta.setdefault(_ASKED, {})[param.name] = value


def _join_source(context: click.Context, _: click.Parameter, value: str) -> OntologySource:
    given = context.meta.get(_ASKED, {})
    return OntologySource((value, *given.get("with", ())), read_imports(given.get("import", ())))


IMPORT_HELP = "Where an import is: a file; otherwise catalog-v001.xml says it. Nothing is fetched."
_FORMAT_HELP = "The format of a file, if its name does not tell: turtle, …"
SOURCE: Decorator = with_options(
    (
        click.argument("source", callback=_join_source),
        click.option("--format", "format_", metavar="NAME", help=_FORMAT_HELP),
        click.option(
            "--with",
            metavar="FILE",
            multiple=True,
            is_eager=True,
            expose_value=False,
            callback=_keep_given,
            help="Another file or folder, as one graph.",
        ),
        click.option(
            "--import",
            metavar="IRI=FILE",
            multiple=True,
            is_eager=True,
            expose_value=False,
            callback=_keep_given,
            help=IMPORT_HELP,
        ),
    )
)

LANG = lang_option("The language of labels, where there are several: en, de, …")
ASKED: Decorator = with_options((SOURCE, LANG))


@contextmanager
def open_engine(
    session: Session,
    source: str | OntologySource,
    format_: str | None,
    *,
    limits: EngineLimits | None = None,
    with_meta: bool = True,
) -> Iterator[Engine]:
    """An engine for files or a named endpoint, closed at the end; a bar if it takes long."""
    from rlm.ontology.engine.local import LocalEngine
    from rlm.ontology.engine.protocol import EngineLimits
    from rlm.ontology.source import open_engine

    given = OntologySource((source,)) if isinstance(source, str) else source
    with given.spool() as named:
        with output.show_opening(named.files[0]):
            engine = open_engine(
                named.files, format=format_, imports=named.imports, limits=limits or EngineLimits()
            )
        if isinstance(engine, LocalEngine) and STDIN in given.files:
            engine.source = str(given)
        with closing(engine):
            for note in getattr(engine, "notes", ()):
                session.notify(note)
            if with_meta:
                with output.show_opening(named.files[0]):
                    engine.meta()
            yield engine


@contextmanager
def open_views(session: Session, given: Mapping[str, Any]) -> Iterator[Views]:
    """The views over the SOURCE that the options of a command name."""
    from rlm.ontology.labels import missing_language
    from rlm.ontology.views.views import Views

    lang = given["lang"]
    with open_engine(session, given["source"], given["format_"]) as engine:
        views = Views(engine, lang=lang)
        if views.meta.sampled:
            session.notify(f"{given['source']} is an endpoint: counts and lists come from samples")
        elif note := missing_language(views.meta.languages, lang):
            session.notify(note)
        with output.progress("asking"):
            yield views


def resolve_name(views: Views, name: str, *, predicate: bool = False) -> str:
    """The <IRI> behind a name. Raises NotFound for a well-formed name that nothing has."""
    from rlm.ontology.views.resolve import resolve, resolve_property

    find = resolve_property if predicate else resolve
    try:
        return f"<{find(views.engine, views.meta, name)}>"
    except OntologyError as exc:
        if type(exc) is OntologyError and _is_well_formed(views, name):
            raise NotFound(str(exc).replace("search_entity(…)", "`rlm ontology search`")) from exc
        raise


def _is_well_formed(views: Views, name: str) -> bool:
    """Whether a name is an IRI, a name with a prefix that is bound, or words that fit nothing."""
    from rlm.ontology.views.resolve import find_named

    if re.search("[:<>]", name):
        with suppress(OntologyError):
            return bool(views.meta.prefixes.expand(name))
        return False
    return bool(name.strip()) and not find_named(views.engine, views.meta, name.strip())
