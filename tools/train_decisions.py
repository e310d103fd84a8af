"""Trains the classifier that finds decisions, and writes `src/rlm/data/decision_model.json`.

    python tools/train_decisions.py    cross-validate, train, write; half a minute

The sessions in `tools/decision_sessions` are our own prose: `U` is the person, `A` the agent, and
what stands in [[…]] settles something. In cross-validation the sentences of one session are always
on one side. Logistic regression with an L2 penalty, by Newton's method.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import orjson

from rlm.retrieval.static import StaticEmbedder
from rlm.service.decision_model import WEIGHTS, Place, read_features
from rlm.service.own_words import read_own, sentences

FOLDER = Path(__file__).resolve().parent / "decision_sessions"
FOLDS, STEPS = 5, 10
SESSIONS = 2
"""Features of fewer sessions are trained and then left out: what they explain is not credited to
the others, and the file is a quarter as large."""
SCALE = {"word": 4.0, "agent": 1.0, "accepted": 4.5, "structure": 0.4, "vector": 1.5}
"""How freely a block of features may be weighed: the penalty of a block is one over its square."""
MARKED = re.compile(r"\[\[(.*?)\]\]", re.DOTALL)


@dataclass(frozen=True)
class Example:
    session: str
    place: Place
    decides: bool


def read_examples(path: Path) -> Iterator[Example]:
    """Every sentence of every person in a file of sessions."""
    for block in re.split(r"^=== ", path.read_text("utf-8"), flags=re.MULTILINE)[1:]:
        name, _, body = block.partition("\n")
        asked: list[str] = []
        first = True
        for part in re.split(r"^(?=[UA] )", body.strip(), flags=re.MULTILINE):
            text = MARKED.sub(r"\1", part[2:])
            if part.startswith("A"):
                asked = list(sentences(text))
                continue
            said, _ = read_own(text)
            marked = [plain(words) for words in MARKED.findall(part)]
            for index, sentence in enumerate(said):
                own = plain(sentence)
                decides = any(own in words or words in own for words in marked)
                yield Example(f"{path.stem}:{name}", Place(said, index, asked, first), decides)
            first = False


def plain(text: str) -> str:
    return " ".join(re.findall(r"\w+|👍", text.casefold()))


def block_of(name: str) -> str:
    kind, mark, _ = name.partition(": ")
    return kind if mark and kind in SCALE else "structure" if name[:2] == "= " else "word"


class Trainer:
    """Examples as rows of a matrix, of which only the products of rows are kept."""

    def __init__(self, examples: Sequence[Example]) -> None:
        self.examples = examples
        places = [each.place for each in examples]
        self.vectors = (
            StaticEmbedder().embed([each.own for each in places]).astype(float) * SCALE["vector"]
        )
        self.labels = np.array([each.decides for each in examples], float)
        self.fold = np.array([zlib.crc32(each.session.encode()) % FOLDS for each in examples])
        self.columns: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        found: dict[str, list[tuple[int, float]]] = {}
        for number, place in enumerate(places):
            for name, value in read_features(place).items():
                found.setdefault(name, []).append((number, value * SCALE[block_of(name)]))
        self.products = self.vectors @ self.vectors.T
        for name, cells in found.items():
            rows, values = np.array([row for row, _ in cells]), np.array([v for _, v in cells])
            self.columns[name] = rows, values
            self.products[np.ix_(rows, rows)] += np.outer(values, values)

    def fit(self, chosen: np.ndarray) -> tuple[list[str], np.ndarray]:
        """The names and the weights that the chosen examples give; those of the vector last."""
        rows = np.flatnonzero(chosen)
        products, labels = self.products[np.ix_(rows, rows)], self.labels[rows]
        dual = np.zeros(len(rows))
        for _ in range(STEPS):
            logits = products @ dual
            likely = 1 / (1 + np.exp(-logits))
            spread = 1 / np.maximum(likely * (1 - likely), 1e-9)
            # the step of Newton for the weights of rows: there are fewer of them than features
            target = logits + spread * (labels - likely)
            dual = np.linalg.solve(products + np.diag(spread), target)
        whole = np.zeros(len(self.examples))
        whole[rows] = dual
        kept, weights = [], []
        for name in sorted(self.columns):
            where, values = self.columns[name]
            if len({self.examples[row].session for row in where if chosen[row]}) >= SESSIONS:
                kept.append(name)
                weights.append(values @ whole[where])
        return kept, np.array([*weights, *(self.vectors.T @ whole)])

    def cross_validate(self) -> np.ndarray:
        logits = np.zeros(len(self.examples))
        for fold in range(FOLDS):
            names, weights = self.fit(self.fold != fold)
            made = self.vectors @ weights[len(names) :]
            for name, weight in zip(names, weights, strict=False):
                rows, values = self.columns[name]
                made[rows] += values * weight
            logits[self.fold == fold] = made[self.fold == fold]
        return 1 / (1 + np.exp(-logits))


def encode(names: Sequence[str], weights: np.ndarray) -> bytes:
    """The weights as they are stored, with the scales of the blocks in them."""
    scaled = {
        name: round(float(weight) * SCALE[block_of(name)], 2)
        for name, weight in zip(names, weights, strict=False)
    }
    vector = [round(float(each) * SCALE["vector"], 2) for each in weights[len(names) :]]
    stored = {"features": {name: each for name, each in scaled.items() if each}, "vector": vector}
    return orjson.dumps(stored) + b"\n"


def main() -> None:
    examples = [each for path in sorted(FOLDER.glob("*.txt")) for each in read_examples(path)]
    trainer = Trainer(examples)
    made = encode(*trainer.fit(np.ones(len(examples), bool)))
    likely = trainer.cross_validate()
    print(f"{len(examples)} sentences, {int(trainer.labels.sum())} of them decide something")
    for floor in (0.3, 0.4, 0.5, 0.6, 0.7):
        taken = likely >= floor
        right = (taken & (trainer.labels > 0)).sum()
        print(f"{floor}: {right / taken.sum():.3f} right, {right / trainer.labels.sum():.3f} found")
    WEIGHTS.write_bytes(made)
    print(f"wrote {WEIGHTS.name}, {len(made)} bytes")


if __name__ == "__main__":
    main()
