"""Every error that rlm raises on purpose.

    RLMError
    ├── ConfigError            a setting that cannot be used
    ├── ModelError             an embedding or language model that cannot be reached or loaded
    │   ├── ModelAuthError     the key is missing or refused
    │   ├── ModelRateLimited   too many requests, after every retry
    │   ├── ModelUnavailable   no connection, a dropped one, a time-out, a server's own fault
    │   ├── ModelBadReply      an answer that is not what the protocol promises
    │   └── CassetteDiverged   a replay was asked for something that was not recorded
    ├── HandleError            no payload behind this key, or none of this kind (also a KeyError)
    ├── SandboxError           the sealed REPL cannot be started, or lacks what was asked for
    │   └── SandboxUnfit       this machine cannot confine a process
    ├── LimitExceeded          a limit of a run was reached; `partial` is what there is
    ├── OntologyError          an ontology or endpoint cannot be read or asked, or has no such term
    │   ├── NotRDF             a file that is no RDF, or not what its name says
    │   ├── QueryRefused       a query that is not allowed, or that cannot be read
    │   ├── QueryTimeout       a query took too long, or too much memory, and was ended
    │   └── EndpointError      a remote endpoint that is down, slow, or answers something else
    ├── StoreError             the store could not do what was asked
    │   ├── ValidationError    a value that a row may not hold (also a ValueError)
    │   ├── NotFound           no such memory, node or edge (also a KeyError)
    │   ├── NotSupported       this kind of store lacks that part (also a NotImplementedError)
    │   ├── StoreLocked        another process holds the write lock
    │   ├── StoreUnavailable   a server that cannot be reached, or whose connection was lost
    │   ├── StoreReadOnly      the file or its folder cannot be written
    │   ├── StoreCorrupt       the file is damaged or is not a store
    │   ├── StoreFull          no space left where the file lives
    │   ├── SchemaTooNew       a newer rlm wrote this file
    │   ├── EngineUnfit        the SQLite library is too old or lacks what we need
    │   └── IndexUnavailable   the search index beside the store is down, failing or of another kind
    └── PackError              a pack cannot be read, verified, signed or imported

A message says what failed, with which value, and what to do next. Foreign exceptions are mapped in
one place per adapter; nothing from apsw or psycopg reaches a caller.
"""

from __future__ import annotations

REINSTALL = "run `pip install .` in an up-to-date checkout of rlm"
"""How to repair or upgrade rlm, for messages: no package index has it yet."""


class RLMError(Exception):
    """The root: catch this to catch everything that rlm raises on purpose."""


class ConfigError(RLMError):
    """A setting that cannot be used: an unknown key, a wrong type, a file that is not TOML."""


class ModelError(RLMError):
    """A model that cannot be loaded or reached."""


class ModelAuthError(ModelError):
    """The key is missing, or the server refused it."""


class ModelRateLimited(ModelError):
    """Too many requests, after every retry. `retry_after_s` is what the server asked for, if it
    did."""

    def __init__(self, message: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class ModelUnavailable(ModelError):
    """No connection, a dropped one, a time-out, or a fault of the server's own."""


class ModelBadReply(ModelError):
    """An answer that is not what the protocol promises: HTML, broken JSON, no text."""


class CassetteDiverged(ModelError):
    """A replay was asked for something that was not recorded at this place."""


class HandleError(RLMError, KeyError):
    """No payload behind this key, or none of this kind."""

    def __str__(self) -> str:  # KeyError would show the repr
        return str(self.args[0]) if self.args else ""


class SandboxError(RLMError):
    """The sealed REPL cannot be started, or was asked for what it does not have."""


class SandboxUnfit(SandboxError):
    """This machine cannot confine a process: another engine, or running without confinement, must
    be asked for."""


class LimitExceeded(RLMError):
    """A limit of a run was reached. `partial` is what there is."""

    def __init__(self, message: str, *, partial: str | None = None) -> None:
        super().__init__(message)
        self.partial = partial


class OntologyError(RLMError):
    """An ontology or endpoint cannot be read or asked, or has no such term."""


class NotRDF(OntologyError):
    """A file that is no RDF, or not what its name says. `line` is 1-based where it is known."""

    def __init__(self, message: str, *, path: str | None = None, line: int | None = None) -> None:
        where = "" if path is None else f"{path}: " if line is None else f"{path}:{line}: "
        super().__init__(where + message)
        self.path = path
        self.line = line


class QueryRefused(OntologyError):
    """A query that is not run: it asks for what is not allowed, or it cannot be read."""


class QueryTimeout(OntologyError):
    """A query took too long, or too much memory, and was ended."""


class EndpointError(OntologyError):
    """A remote endpoint that is down, slow, or answers something else than SPARQL results."""


class StoreError(RLMError):
    """The store could not do what was asked."""


class ValidationError(StoreError, ValueError):
    """A value that a row may not hold. `field` names it."""

    def __init__(self, message: str, *, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


class NotFound(StoreError, KeyError):
    """No such memory, node or edge for this tenant."""

    def __str__(self) -> str:  # KeyError would show the repr
        return str(self.args[0]) if self.args else ""


class NotSupported(StoreError, NotImplementedError):
    """This kind of store does not have that part; the message says which kind does."""


class StoreLocked(StoreError):
    """Another process holds the write lock and did not let go in time."""


class StoreUnavailable(StoreError):
    """The store's server cannot be reached, or the connection was lost. Nothing was written, unless
    `may_be_stored`: then the change is there whole, or not at all."""

    may_be_stored = False


class StoreReadOnly(StoreError):
    """The file or its folder cannot be written."""


class StoreCorrupt(StoreError):
    """The file is damaged, or is not a store at all. It is left as it was."""


class StoreFull(StoreError):
    """No space left where the file lives. The write was rolled back."""


class SchemaTooNew(StoreError):
    """A newer rlm wrote this file. It is left as it was."""


class EngineUnfit(StoreError):
    """The SQLite library is too old, or lacks something that a store cannot do without."""


class IndexUnavailable(StoreError):
    """The search index beside the store cannot be reached, fails, or was built for another
    embedder. The store itself is sound."""


class PackError(RLMError):
    """A pack cannot be read, verified, signed or imported. `line` is 1-based where it is known."""

    def __init__(self, message: str, *, path: str | None = None, line: int | None = None) -> None:
        where = "" if path is None else f"{path}: " if line is None else f"{path}:{line}: "
        super().__init__(where + message)
        self.path = path
        self.line = line
