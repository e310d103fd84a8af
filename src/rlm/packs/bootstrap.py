"""The packs that ship with the package, and the seven general strategies among them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from hashlib import sha256
from importlib import resources
from pathlib import Path
from typing import Any

from rlm.errors import REINSTALL, PackError, ValidationError
from rlm.packs.format import PackReader, item_of
from rlm.packs.manifest import PACK_SUFFIX
from rlm.store.gate import admit_item
from rlm.store.generality import hardcoded_name
from rlm.store.types import LOCAL, MemoryItem

CORE = "core_v1"
STRATEGIES = 7


def shipped_packs() -> dict[str, Path]:
    """Name and file of every pack in the package."""
    folder = Path(str(resources.files("rlm") / "data" / "memory_packs"))
    # Resolved: an installer may have linked the files, and a link is what the reader refuses.
    files = sorted(folder.glob(f"*{PACK_SUFFIX}"))
    return {path.name.removesuffix(PACK_SUFFIX): path.resolve() for path in files}


def shipped_hashes() -> dict[str, str]:
    """Hash and name of every pack in the package, whatever its file is called."""
    return {sha256(path.read_bytes()).hexdigest(): name for name, path in shipped_packs().items()}


def bootstrap_general_strategies() -> list[MemoryItem]:
    """The seven general strategies, ready to add to any store."""
    path = shipped_packs().get(CORE)
    if path is None:
        why = f"the pack {CORE} is missing from this installation: {REINSTALL}"
        raise PackError(why)
    found = []
    for number, record in PackReader(path):
        item = item_of(record)
        item.rekey()
        if item.memory_id != record.get("memory_id"):
            raise PackError("memory_id is not that of the text", path=str(path), line=number)
        item.trust = "trusted"
        found.append(item)
    return found


def validate_bootstrap(items: Iterable[Any]) -> dict[str, Any]:
    """Whether these can be the general strategies: `valid`, and each check with what failed it.

    Never raises: anything may be handed in.
    """
    given = list(items)
    memories = [item for item in given if _admissible(item)]  # the others fail `types`
    titles = Counter(item.title.casefold() for item in memories)
    failed = {
        "count": [] if len(given) == STRATEGIES else [f"{len(given)} items, expected {STRATEGIES}"],
        "types": [repr(item)[:80] for item in given if not _admissible(item)],
        "unique_titles": [title for title, count in titles.items() if count > 1],
        "universal_tag": [item.title for item in memories if "universal" not in (item.tags or ())],
        "no_ontology_iris": [
            f"{item.title}: {name}"
            for item in memories
            if (name := hardcoded_name(item)) is not None
        ],
    }
    checks = {name: {"ok": not problems, "failed": problems} for name, problems in failed.items()}
    return {"valid": all(check["ok"] for check in checks.values()), "checks": checks}


def _admissible(item: Any) -> bool:
    """Whether the gate would let it in as it is."""
    try:
        admit_item(item, LOCAL, origin="check")
    except (ValidationError, AttributeError, TypeError):
        return False
    return True
