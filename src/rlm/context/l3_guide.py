"""L3: what somebody wrote down about this ontology, in at most 200 characters: the recipe that
fits, or the summary."""

from __future__ import annotations

from rlm.context.budget import clip
from rlm.context.guide import Guide

BUDGET = 200


def pack(guide: Guide | None, task: str, budget: int = BUDGET) -> str:
    """The recipe for the task where there is one, else the summary; '' without a guide."""
    if guide is None:
        return ""
    recipe = guide.best(task)
    if recipe is not None:
        return clip(f"Recipe, {recipe.title}: {recipe.text}", budget)
    return clip(f"Guide: {guide.summary}", budget) if guide.summary else ""
