"""Packs: memories as files that can be diffed, signed, shared and taken back.

- `format`, `manifest`, `signature`: what is in the files.
- `source`: where a pack comes from and how far it is trusted.
- `transfer`, `export`: into a store and out of it.
- `select`, `candidates`: what is fit to ship, and the review by a person.
- `bootstrap`: the packs that ship with the package.
- `curriculum`, `curriculum_check`: lists of tasks that check themselves, in YAML. Their names are
  loaded when first used: packs need no YAML.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlm.lazy import lazy_names
from rlm.packs.bootstrap import bootstrap_general_strategies, shipped_packs, validate_bootstrap
from rlm.packs.candidates import CandidatesReport, ReviewReport, apply_candidates, write_candidates
from rlm.packs.export import ExportReport, export_pack, seal_pack, sign_pack
from rlm.packs.manifest import Manifest
from rlm.packs.signature import generate_key
from rlm.packs.transfer import (
    ImportReport,
    RollbackReport,
    VerifyReport,
    import_pack,
    list_packs,
    rollback_pack,
    verify_pack,
)
from rlm.store.generality import score_generalization
from rlm.store.types import PackRow

if TYPE_CHECKING:
    from rlm.packs.curriculum import Curriculum, Task, read_curriculum
    from rlm.packs.curriculum_check import check_curriculum

_CHECK, _READ = ("check_curriculum",), ("Curriculum", "Task", "read_curriculum")
__getattr__ = lazy_names(__name__, {"curriculum": _READ, "curriculum_check": _CHECK})[0]

__all__ = [
    "CandidatesReport", "Curriculum", "ExportReport", "ImportReport", "Manifest", "PackRow",
    "ReviewReport", "RollbackReport", "Task", "VerifyReport", "apply_candidates",
    "bootstrap_general_strategies", "check_curriculum", "export_pack", "generate_key",
    "import_pack", "list_packs", "read_curriculum", "rollback_pack", "score_generalization",
    "seal_pack", "shipped_packs", "sign_pack", "validate_bootstrap", "verify_pack",
    "write_candidates",
]  # fmt: skip
