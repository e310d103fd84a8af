"""What a run was worth and what it taught: judge, extractor, gates, dedup, confidence."""

from rlm.learning.artifact import extract_trajectory_artifact
from rlm.learning.extract import extract_contrast, extract_memories
from rlm.learning.grounding import find_ungrounded, iris_in
from rlm.learning.judge import judge_trajectory
from rlm.learning.verify import Verdict, Verify, check_answer, check_verify

__all__ = [
    "Verdict",
    "Verify",
    "check_answer",
    "check_verify",
    "extract_contrast",
    "extract_memories",
    "extract_trajectory_artifact",
    "find_ungrounded",
    "iris_in",
    "judge_trajectory",
]
