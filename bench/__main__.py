"""`make bench`: run every part, or some, and write their sections of docs/benchmarks.md."""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
import time
from pathlib import Path

from bench import (
    learning,
    loads,
    mcp_load,
    ontology,
    packs,
    quality,
    report,
    sandbox,
    search,
    teams,
)

ROOT = Path(__file__).parent.parent
PARTS = (
    "quality",
    "cold",
    "sandbox",
    "ontology",
    "learning",
    "import",
    "packs",
    "writers",
    "mcp",
    "rarity",
    "search",
)
ON_REQUEST = ("minilm", "teams", "tenants")
"""What needs more than the extra bench installs. `teams` takes the first of --sizes; `tenants`, a
tenth of it for each."""
INTRO = """# Benchmarks

Written by `make bench`. Every section is one run on one machine; read the ratios, not the
milliseconds. Machines like this one are shared and noisy. `python -m bench --only PART` writes one
section anew and leaves the others.
"""


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument(
        "--only", default=",".join(PARTS), help=f"some of: {', '.join(PARTS + ON_REQUEST)}"
    )
    parser.add_argument("--sizes", default="10000,100000,1000000")
    parser.add_argument("--seconds", type=float, default=300.0, help="how long the part mcp takes")
    parser.add_argument("--out", default=str(ROOT / "docs" / "benchmarks.md"))
    given = parser.parse_args()
    out = Path(given.out)
    sections = _sections(out.read_text("utf-8")) if out.exists() else {}
    with tempfile.TemporaryDirectory(prefix="rlm-bench-") as name:
        folder = Path(name)
        os.environ["RLM_CACHE_DIR"] = str(folder / "cache")
        work = {
            "quality": lambda: quality.run(folder / "quality", ROOT.parent / "shared" / "data"),
            "minilm": lambda: quality.run(
                folder / "minilm", ROOT.parent / "shared" / "data", "minilm"
            ),
            "teams": lambda: teams.run(folder / "teams", int(given.sizes.split(",")[0])),
            "tenants": lambda: teams.equal(int(given.sizes.split(",")[0]) // 10),
            "cold": lambda: loads.cold_start(folder / "cold"),
            "sandbox": lambda: sandbox.run(),
            "ontology": lambda: ontology.run(
                folder / "ontology", [int(size) for size in given.sizes.split(",")]
            ),
            "learning": lambda: learning.run(folder / "learning"),
            "import": lambda: loads.imports(folder / "import"),
            "packs": lambda: packs.run(folder / "packs"),
            "writers": lambda: loads.writers(folder / "writers"),
            "mcp": lambda: mcp_load.run(folder / "mcp", given.seconds),
            "rarity": lambda: search.by_rarity(folder / "rarity"),
            "search": lambda: search.run(
                folder / "search", [int(size) for size in given.sizes.split(",")]
            ),
        }
        for part in given.only.split(","):
            started, machine = time.perf_counter(), report.machine()
            for title, body in _sections(work[part]()).items():
                sections[title] = f"{body}\n({machine}.)\n"
                print(sections[title], file=sys.stderr)
            print(f"({part}: {time.perf_counter() - started:.0f} s)\n", file=sys.stderr)
    out.write_text("\n".join([INTRO, *sections.values()]), "utf-8")


def _sections(text: str) -> dict[str, str]:
    """The sections of a page by their titles, in order."""
    parts = re.split(r"^(?=## )", text, flags=re.MULTILINE)
    return {part.splitlines()[0]: part.rstrip() + "\n" for part in parts if part.startswith("## ")}


if __name__ == "__main__":
    main()
