"""The row types: what a store holds, as plain data.

`Scope` says where a memory applies; `Tenant` and `level` say who may see it. `source_type` says
where a memory came from; `outcome` says what kind of lesson it is. Nothing here knows a database,
and nothing here validates: `gate.py` does, once, on the way in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from typing import Any

from rlm import clock
from rlm.errors import ValidationError
from rlm.store.identity import is_stable_id
from rlm.store.identity import memory_id as stable_id

SOURCE_TYPES = ("success", "failure", "human", "pack")
OUTCOMES = ("success", "failure", "mixed")
LEVELS = ("project", "team", "org")
TRUSTS = ("trusted", "unverified", "quarantined")

NODE_TYPES = ("entity", "fact", "experience", "decision", "snippet")
EDGE_TYPES = ("relation", "composition", "causation", "context")
ROLES = ("subject", "object", "context", "participant", "cause", "effect")
TIERS = ("task", "session", "longterm", "archive")
JOB_STATES = ("ready", "leased", "done", "dead")
BRANCH_ENDS = ("returned", "failed", "expired")


class Record:
    """A dataclass that can be written as JSON."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Every field as JSON types."""
        values: dict[str, Any] = asdict(self)  # type: ignore[call-overload]
        return {name: list(v) if isinstance(v, tuple) else v for name, v in values.items()}


@dataclass(frozen=True, slots=True)
class Tenant:
    """Who opened the store. A store is opened for one tenant and no call names another."""

    org: str = "local"
    team: str = "local"
    project: str = "local"

    def __post_init__(self) -> None:
        for name in ("org", "team", "project"):
            value = getattr(self, name)
            if (
                not isinstance(value, str)
                or not value.strip()
                or len(value) > 200
                or not value.isprintable()
            ):
                why = f"tenant {name} is {_quote(value)}: use 1 to 200 printable characters"
                raise ValidationError(why, field=name)

    def at_level(self, level: str) -> tuple[str, str, str]:
        """Org, team and project of what is shared at a level: those below it are ''."""
        team = self.team if level != "org" else ""
        return self.org, team, self.project if level == "project" else ""


def _quote(value: Any) -> str:
    """A refused value without its secrets. Loaded here: most programs refuse nothing."""
    from rlm.store.values import show

    return show(value)


LOCAL = Tenant()
"""A person alone on a machine."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Where a memory applies. An empty field means everywhere."""

    ontology: str | None = None
    task_types: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    transferable: bool = True

    def to_dict(self) -> dict[str, Any]:
        """The seed's JSON form, every key present."""
        return {
            "ontology": self.ontology,
            "task_types": list(self.task_types),
            "tools": list(self.tools),
            "transferable": self.transferable,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any] | None) -> Scope:
        """Read the JSON form. ValidationError for an unknown key or a wrong type."""
        if not data or data == _DEFAULT_DICT:
            return DEFAULT_SCOPE
        for key in data:
            if key not in _SCOPE_KEYS:
                why = f"unknown scope key {_quote(key)}; known: {', '.join(_SCOPE_KEYS)}"
                raise ValidationError(why, field="scope")
        ontology = data.get("ontology") or None
        if ontology is not None and not isinstance(ontology, str):
            why = f"scope ontology is {_quote(ontology)}: use text or null"
            raise ValidationError(why, field="scope")
        transferable = data.get("transferable", True)
        if not isinstance(transferable, bool):
            why = f"scope transferable is {_quote(transferable)}: use true or false"
            raise ValidationError(why, field="scope")
        return cls(ontology, _names(data, "task_types"), _names(data, "tools"), transferable)

    def admits(self, wanted: Scope) -> bool:
        """Whether a memory of this scope is of use where `wanted` describes the task at hand.

        Each field that both sides fill must meet; a field that either leaves empty is no bar. An
        ontology that is "" says that the task has none: what is about one, or calls its tools, is
        of no use there.
        """
        if wanted.ontology == "" and (self.ontology or ONTOLOGY_TOOLS.intersection(self.tools)):
            return False
        own, other = (self.ontology or "").casefold(), (wanted.ontology or "").casefold()
        if own and other and own != other:
            return False
        types, others = set(self.task_types), set(wanted.task_types)
        if types and others and not types & others:
            return False
        return not (self.tools and wanted.tools and not set(self.tools) <= set(wanted.tools))


ONTOLOGY_TOOLS = frozenset(
    ("search_entity", "search_by_label", "describe_entity", "probe_relationships", "find_path",
     "graph_stats", "predicate_frequency", "sparql_schema", "sparql_peek", "sparql_query",
     "sparql_slice", "ontology_view")
)  # fmt: skip
"""Tools that a run has only where it has an ontology."""
_SCOPE_KEYS = ("ontology", "task_types", "tools", "transferable")
DEFAULT_SCOPE = Scope()
_DEFAULT_DICT = DEFAULT_SCOPE.to_dict()


def _names(data: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = data.get(key) or ()
    if (
        isinstance(value, str)
        or not isinstance(value, Sequence)
        or not all(isinstance(v, str) for v in value)
    ):
        raise ValidationError(f"scope {key} is {_quote(value)}: use a list of text", field="scope")
    return tuple(value)


QUARANTINE_REASON = "quarantine_reason"
"""The key of provenance that says why a memory is in quarantine."""
QUARANTINE_KEYS = (QUARANTINE_REASON, "quarantined_because")
"""The same, and what the stores of earlier versions called it."""


@dataclass(slots=True)
class MemoryItem:
    """A procedure worth recalling. Fills its own id and time; the store stamps the rest.

    What the words give, `memory_id`, is its identity. An `id` of the caller's own is kept beside
    it, as `provenance["alias"]`: every store finds the memory by either.
    """

    title: str
    description: str
    content: str
    source_type: str = "human"
    task_query: str | None = None
    tags: list[str] = field(default_factory=list)
    scope: Scope = DEFAULT_SCOPE
    provenance: dict[str, Any] = field(default_factory=dict)
    outcome: str | None = None
    confidence: float | None = None
    level: str = "project"
    created_at: str = ""
    memory_id: str = ""
    session_id: str | None = None
    access_count: int = 0
    success_count: int = 0
    failure_count: int = 0
    last_used: str | None = None
    trust: str | None = None
    origin: str | None = None
    org: str = ""
    team: str = ""
    project: str = ""
    archived_at: str | None = None
    id: str = field(default="", repr=False, compare=False)
    """The caller's own name for it; where there is none, `memory_id`."""

    def __post_init__(self) -> None:
        if self.id:
            self._keep_alias()
        if type(self.scope) is not Scope and isinstance(self.scope, Mapping):
            self.scope = Scope.from_dict(self.scope)
        if not self.created_at:
            self.created_at = clock.now_iso()
        if not self.memory_id:
            self.rekey()
        self.id = alias_of(self.provenance) or self.memory_id

    def _keep_alias(self) -> None:
        if not isinstance(self.id, str) or len(self.id) > 200 or not self.id.isprintable():
            why = f"id is {_quote(self.id)}: use 1 to 200 printable characters"
            raise ValidationError(why, field="id")
        # One of our own form is what `replace` hands over; the gate refuses what is no object.
        if not is_stable_id(self.id) and isinstance(self.provenance, Mapping):
            self.provenance = {**self.provenance, "alias": self.id}

    @property
    def kind(self) -> str:
        """What sort of memory it is: procedure, fact or decision."""
        return str(self.provenance.get("kind") or "procedure")

    @property
    def quarantine_reason(self) -> str:
        """Why it is in quarantine; '' where nobody said."""
        found = (self.provenance.get(key) for key in QUARANTINE_KEYS)
        return str(next((reason for reason in found if reason), ""))

    def rekey(self) -> None:
        """Set the id that the present title, content and scope give."""
        if not (isinstance(self.title, str) and isinstance(self.content, str)):
            raise ValidationError("title and content must be text", field="title")
        try:
            scope = self.scope.to_dict()
        except (AttributeError, TypeError):
            why = "scope is no Scope, or its task_types or tools are no lists"
            raise ValidationError(why, field="scope") from None
        self.memory_id = stable_id(self.title, self.content, scope)
        self.id = alias_of(self.provenance) or self.memory_id

    def to_dict(self) -> dict[str, Any]:
        """Every field as JSON types. The embedding is not a field and never leaves the store."""
        data = {name: getattr(self, name) for name in ITEM_FIELDS}
        data["scope"] = self.scope.to_dict()
        data["tags"] = list(self.tags)
        data["provenance"] = dict(self.provenance)
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> MemoryItem:
        """Read what `to_dict` wrote, or seed 001's form with its `id`. Unknown keys raise."""
        values = dict(data)
        unknown = sorted(set(values) - {*ITEM_FIELDS, "id"})
        if unknown:
            raise ValidationError(f"unknown memory field {unknown[0]!r}", field=unknown[0])
        if isinstance(values.get("scope"), Mapping) or values.get("scope") is None:
            values["scope"] = Scope.from_dict(values.get("scope"))
        for name in ("title", "description", "content"):
            if name not in values:
                raise ValidationError(f"a memory needs a {name}", field=name)
        return cls(**values)


ITEM_FIELDS = tuple(spec.name for spec in fields(MemoryItem) if spec.name != "id")
"""What is stored: an id of the caller's own is a part of the provenance."""


def alias_of(provenance: Any) -> str | None:
    """The id that a caller gave a memory, if any."""
    alias = provenance.get("alias") if isinstance(provenance, Mapping) else None
    return alias if isinstance(alias, str) and alias else None


class Hit(tuple[MemoryItem, float]):
    """A recalled memory and its score, as a pair; `why` is there when asked to explain."""

    _explain: Callable[[], Any] | None

    def __new__(
        cls, item: MemoryItem, score: float, explain: Callable[[], Any] | None = None
    ) -> Hit:
        self = super().__new__(cls, (item, score))
        self._explain = explain
        return self

    @cached_property
    def why(self) -> Any:
        """The factors of its score, put together for who looks at them."""
        return None if self._explain is None else self._explain()

    @property
    def item(self) -> MemoryItem:
        return self[0]

    @property
    def score(self) -> float:
        return self[1]


@dataclass(slots=True)
class Run:
    """One call of the agent; a run can hold several trajectories."""

    run_id: str = ""
    created_at: str = ""
    model: str | None = None
    ontology_name: str | None = None
    ontology_path: str | None = None
    notes: str | None = None

    def __post_init__(self) -> None:
        self.run_id = self.run_id or clock.short_id("r")
        self.created_at = self.created_at or clock.now_iso()


@dataclass(slots=True)
class Trajectory:
    """What happened on the way to one answer, bounded."""

    task_query: str
    run_id: str = ""
    trajectory_id: str = ""
    final_answer: str | None = None
    iteration_count: int = 0
    converged: bool = False
    artifact: dict[str, Any] = field(default_factory=dict)
    rlm_log_path: str | None = None
    created_at: str = ""

    def __post_init__(self) -> None:
        self.trajectory_id = self.trajectory_id or clock.short_id("t")
        self.created_at = self.created_at or clock.now_iso()


@dataclass(slots=True)
class Judgment:
    """The verdict on one trajectory. Its fields are also read as those of a dict (seed 001).

    >>> Judgment(True, "the answer was seen")["is_success"]
    True
    """

    is_success: bool | None
    """None when nobody could tell: the run is kept, and teaches nothing."""
    reason: str
    confidence: str = "low"
    missing: list[str] = field(default_factory=list)

    def keys(self) -> tuple[str, ...]:
        """The names of its fields: with these, `dict(judgment)` works."""
        return tuple(spec.name for spec in fields(self))

    def __getitem__(self, name: str) -> Any:
        if name not in self.keys():
            raise KeyError(name)
        return getattr(self, name)


@dataclass(frozen=True, slots=True)
class Signal:
    """A reason to believe a memory more or less."""

    memory_id: str
    delta: float
    kind: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Lessons:
    """What a judged run changes in memories that are there already."""

    signals: tuple[Signal, ...] = ()
    changes: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    """Memory id → fields, as `update` takes them."""
    archived: tuple[str, ...] = ()
    followed: tuple[str, ...] = ()
    """The memories that the run used: each counts a success or failure, as judged."""
    touches: bool = True
    """Whether what the run was given counts as used now."""


@dataclass(frozen=True, slots=True)
class NewPack:
    """A pack on its way in: what the ledger keeps of it."""

    name: str
    sha256: str
    source: str
    signer: str | None
    trust: str


@dataclass(frozen=True, slots=True)
class PackRow(Record):
    """One import of a pack."""

    pack_no: int
    name: str
    sha256: str
    source: str
    signer: str | None
    trust: str
    item_count: int
    added_count: int
    imported_at: str
    rolled_back_at: str | None


@dataclass(frozen=True, slots=True)
class Check:
    """One finding about a store: what was looked at, whether it is sound, and what to do."""

    name: str
    ok: bool
    detail: str
    fix: str | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """A session to be distilled. `fence` is new with every lease: an older one is void."""

    job_no: int
    agent: str
    session_id: str
    outcome: str
    payload: dict[str, Any]
    state: str
    attempts: int
    fence: int
    not_before: str
    leased_until: str | None
    last_error: str | None
    created_at: str
    finished_at: str | None


@dataclass(frozen=True, slots=True)
class AccessToken(Record):
    """Who may speak to a store over HTTP, for which project. The secret itself is kept nowhere."""

    token_id: str
    name: str
    digest: str = field(repr=False)
    """SHA-256 of the secret, in hexadecimal."""
    read_only: bool
    org: str
    team: str
    project: str
    created_at: str

    @property
    def tenant(self) -> Tenant:
        """Whose memories a connection with this token sees."""
        return Tenant(self.org, self.team, self.project)


@dataclass(frozen=True, slots=True)
class Branch:
    """A part of a session that is worked on apart, within a budget (context folding)."""

    branch_id: str
    session_id: str
    parent_id: str | None
    description: str
    depth: int
    budget_tokens: int
    used_tokens: int
    state: str
    result: str | None
    created_at: str
    ended_at: str | None
    """When it ended; of an open one, when it expires."""
