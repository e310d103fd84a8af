"""Writes a made-up ontology of a given size: `python tools/make_ontology.py --triples 1000000
--seed 7 --out big.nt`.

The same size, seed and format give the same bytes. The work is done by bench/ontology_data.py.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # bench is no installed package

from bench.ontology_data import write_ontology


def main() -> int:
    parser = argparse.ArgumentParser(prog="make_ontology", description=__doc__)
    parser.add_argument("--triples", type=int, default=10_000, help="exactly so many (10000)")
    parser.add_argument("--seed", type=int, default=7, help="another seed, another ontology (7)")
    parser.add_argument("--out", type=Path, required=True, help="the file, *.nt or *.ttl")
    parser.add_argument("--format", choices=("nt", "ttl"), help="when the suffix does not tell")
    given = parser.parse_args()
    start = time.perf_counter()
    try:
        made = write_ontology(given.out, given.triples, given.seed, form=given.format)
    except (ValueError, OSError) as error:
        print(f"make_ontology: {error}", file=sys.stderr)
        return 1
    print(
        f"{made.path}: {made.triples} triples, {made.classes} classes under {made.roots} roots,"
        f" {made.object_properties} object and {made.datatype_properties} datatype properties,"
        f" {made.individuals} individuals, {made.size_bytes / 1e6:.1f} MB in"
        f" {time.perf_counter() - start:.1f} s"
    )
    print(f"sha256 {made.sha256}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
