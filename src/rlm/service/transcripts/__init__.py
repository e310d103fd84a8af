"""Transcripts of coding agents, read by structure: one reader for each host."""

from rlm.service.transcripts.read import AGENTS, identify, read_transcript
from rlm.service.transcripts.session import Command, Session, Turn

__all__ = ["AGENTS", "Command", "Session", "Turn", "identify", "read_transcript"]
