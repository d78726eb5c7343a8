"""Scores of other programs as a front end takes them in: files, what they claim, and scripts that compute them."""

# ruff: noqa: F401 (types and values that come with the verbs)
from __future__ import annotations

from engine.brought.budgets import MOST_BYTES
from engine.brought.claim import MEANING, SIGNS, agreement_with
from engine.brought.claim import bring as read_as
from engine.brought.files import READERS, read_table
from engine.brought.header_row import AUTO, CHOICES, Numbering
from engine.brought.kept import Kept as KeptTable
from engine.brought.kept import delete, entries, keep, load, require
from engine.brought.matching import AXES, LISTED, ORDERS, axes_that_fit, check
from engine.brought.reading import Preview, preview
from engine.brought.rebuilt import PROBLEM, WEIGHTS, problem_npz, rebuilt
from engine.brought.score_recipes import SCORE_RECIPES, ScoreRecipe, claim_json
from engine.brought.table import Table

