"""The small experiments of the tour, as its steps show them."""

# ruff: noqa: F401 (types and values that come with the verbs)
from __future__ import annotations

from engine.applications.lessons import comparing, rough, signals, toy
from engine.applications.lessons.curve import along_eta, gaps, most_curved

