"""The small experiments of the tour, as its steps show them."""

from __future__ import annotations

from engine.applications.lessons import comparing, rough, signals, toy
from engine.applications.lessons.curve import along_eta, gaps, most_curved

__all__ = ["along_eta", "comparing", "gaps", "most_curved", "rough", "signals", "toy"]
