"""What a prompt is given beforehand: four layers, each with a budget in characters that is never
exceeded.

L0 says what the ontology is about, L1 what its properties join, L2 what earlier runs learnt, L3
what somebody wrote down about this ontology. None of them dumps triples, and none holds a whole
memory.
"""

from rlm.context.build import (
    BuiltContext,
    Guide,
    Recipe,
    build_context,
    format_memories_for_injection,
    read_guide,
)

__all__ = [
    "BuiltContext",
    "Guide",
    "Recipe",
    "build_context",
    "format_memories_for_injection",
    "read_guide",
]
