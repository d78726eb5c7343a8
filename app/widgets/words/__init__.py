"""Texts that explain themselves, and names of specifications, durations and verdicts."""
