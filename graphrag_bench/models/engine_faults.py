"""How a call of a released engine fails."""

from __future__ import annotations


class EngineFailed(Exception):
    """The engine could not do what it was asked for; the message says why, and where its log is."""


class EngineDied(EngineFailed):
    """The process of the engine ended, or wrote what is no reply."""


class EngineHung(EngineFailed):
    """The engine gave no reply within its seconds; its process was ended."""
