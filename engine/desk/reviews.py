"""Decisions about training examples and records, as a front end takes them."""

# ruff: noqa: F401 (values alone)
from engine.applications.decisions import FINE, UNSURE, WRONG, DecidedMeanwhile, Decision, Decisions
