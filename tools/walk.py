"""How long the walk of `rlm run` is: which files of rlm one run enters, and which modules it loads.

    python tools/walk.py ONTOLOGY [QUESTION]    ask `offline`, over a store of its own
    python tools/walk.py --json ONTOLOGY        the names themselves

A file is entered when a function of it is called; what a module does while it is loaded does not
count. Only this process is looked at, not the workers of the
sandbox and of the SPARQL engine. Both numbers are the same on every machine; a test holds them.
"""

from __future__ import annotations

import argparse
import contextlib
import inspect
import io
import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

SOURCE = Path(__file__).resolve().parent.parent / "src" / "rlm"
QUESTION = "What are the subclasses of Agent?"


def walk(ontology: Path, question: str = QUESTION) -> tuple[set[str], set[str]]:
    """(files entered, modules loaded) by one run. The process must not have imported rlm before."""
    seen: set[CodeType] = set()
    loading = 0  # how many modules are being loaded

    def profile(frame: FrameType, event: str, _: Any) -> None:
        nonlocal loading
        if frame.f_code.co_name == "<module>":
            loading += (event == "call") - (event == "return")
        elif event == "call" and not loading:
            seen.add(frame.f_code)

    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        os.environ["RLM_CACHE_DIR"] = folder
        options = ["--model", "offline", "--db", str(Path(folder, "walk.db")), "--json"]
        from rlm.cli import main

        sys.setprofile(profile)
        try:
            code = main(["run", question, "--ontology", str(ontology), *options])
        finally:
            sys.setprofile(None)
    if code != 0:
        raise SystemExit(f"the run ended with exit code {code}")
    files = {Path(each.co_filename) for each in seen if _is_function(each)}
    entered = {str(path.relative_to(SOURCE)) for path in files if path.is_relative_to(SOURCE)}
    return entered, {name for name in sys.modules if name.split(".")[0] == "rlm"}


def _is_function(code: CodeType) -> bool:
    return bool(code.co_flags & inspect.CO_OPTIMIZED) and not code.co_name.startswith("<")


def _count_rooms(names: Iterable[str]) -> Counter[str]:
    return Counter(name.partition(".")[0] for name in names)


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure the walk of `rlm run`.")
    parser.add_argument("ontology", type=Path)
    parser.add_argument("question", nargs="?", default=QUESTION)
    parser.add_argument("--json", action="store_true", help="print the names")
    options = parser.parse_args()
    entered, loaded = walk(options.ontology, options.question)
    if options.json:
        print(json.dumps({"entered": sorted(entered), "loaded": sorted(loaded)}))
        return 0
    files = _count_rooms(name.replace("/", ".") for name in entered)
    modules = _count_rooms(name.removeprefix("rlm.") for name in loaded)
    print(f"{'entered':>8} {'loaded':>7}")
    for room, count in modules.most_common():
        print(f"{files[room]:8} {count:7} {room}")
    print(f"{len(entered):8} {len(loaded):7} in all")
    return 0


if __name__ == "__main__":
    sys.exit(main())
