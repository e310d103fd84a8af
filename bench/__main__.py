"""`make bench`: run every part and write docs/benchmarks.md. `--only`, `--sizes` and `--out` are
for trials."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from bench import learning, loads, ontology, packs, quality, report, sandbox, search

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
    "rarity",
    "search",
)
INTRO = """# Benchmarks

Written by `make bench`. Every table is one run on one machine; read the ratios, not the
milliseconds. Machines like this one are shared and noisy.
"""


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("--only", default=",".join(PARTS), help=f"some of: {', '.join(PARTS)}")
    parser.add_argument("--sizes", default="10000,100000,1000000")
    parser.add_argument("--out", default=str(ROOT / "docs" / "benchmarks.md"))
    given = parser.parse_args()
    machine = report.machine()
    sections = []
    with tempfile.TemporaryDirectory(prefix="rlm-bench-") as name:
        folder = Path(name)
        work = {
            "quality": lambda: quality.run(folder / "quality", ROOT.parent / "shared" / "data"),
            "cold": lambda: loads.cold_start(folder / "cold"),
            "sandbox": lambda: sandbox.run(),
            "ontology": lambda: ontology.run(
                folder / "ontology", [int(size) for size in given.sizes.split(",")]
            ),
            "learning": lambda: learning.run(folder / "learning"),
            "import": lambda: loads.imports(folder / "import"),
            "packs": lambda: packs.run(folder / "packs"),
            "writers": lambda: loads.writers(folder / "writers"),
            "rarity": lambda: search.by_rarity(folder / "rarity"),
            "search": lambda: search.run(
                folder / "search", [int(size) for size in given.sizes.split(",")]
            ),
        }
        for part in given.only.split(","):
            started = time.perf_counter()
            sections.append(work[part]())
            print(sections[-1], file=sys.stderr)
            print(f"({part}: {time.perf_counter() - started:.0f} s)\n", file=sys.stderr)
    Path(given.out).write_text("\n".join([INTRO, f"Machine: {machine}.\n", *sections]), "utf-8")


if __name__ == "__main__":
    main()
