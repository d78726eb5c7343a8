"""Scores of other programs as a front end takes them in: files, what they claim, and scripts that compute them."""

# ruff: noqa: F401 (types and values that come with the verbs)
from __future__ import annotations

from engine.external.budgets import MOST_BYTES
from engine.external.claim import MEANING, SIGNS, agreement_with
from engine.external.claim import bring as read_as
from engine.external.files import READERS, read_table
from engine.external.header_row import AUTO, CHOICES, Numbering
from engine.external.matching import AXES, LISTED, ORDERS, axes_that_fit, check
from engine.external.reading import Preview, preview
from engine.external.rebuilt import PROBLEM, WEIGHTS, problem_npz, rebuilt
from engine.external.saved_tables import SavedTable as KeptTable
from engine.external.saved_tables import delete, entries, keep, load, require
from engine.external.score_recipes import SCORE_RECIPES, ScoreRecipe, claim_json
from engine.external.table import Table

