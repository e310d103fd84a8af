"""Transcripts of coding agents, read by structure: one reader for each host."""

from rlm.service.transcripts.read import AGENTS, identify, read_transcript
from rlm.service.transcripts.session import CodingSession, SessionTurn, ShellCommand

__all__ = ["AGENTS", "CodingSession", "SessionTurn", "ShellCommand", "identify", "read_transcript"]
