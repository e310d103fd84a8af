"""Transcripts of coding agents, read by structure: one reader for each host."""

from rlm.service.transcripts.session import Command, Session, Turn

__all__ = ["Command", "Session", "Turn"]
