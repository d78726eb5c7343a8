"""Where each request is declared, by its name: a new one is its file in this room and a line here.

Modules are imported when they are needed, since the command line lists all names at once. A plugin adds its own by
`register`.
"""

from __future__ import annotations

import ast
import inspect
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, cast

from engine.basics.registry import Registry

if TYPE_CHECKING:
    from engine.requests import JobRequest, Request

REQUESTS: Registry[str | type[Request]] = Registry("analysis", {
    "control-set": "control_set:ControlSetRequest",
    "data-values": "data_values:DataValuesRequest",
    "datamodel": "subset_bank:SubsetModelsRequest",
    "datamodel-scores": "datamodel_scores:DatamodelScoresRequest",
    "embedding": "embedding:EmbeddingRequest",
    "explain": "explain:ExplainRequest",
    "error-surface": "error_surfaces:ErrorSurfaceRequest",
    "mean-over-seeds": "over_seeds:MeanOverSeedsRequest",
    "over-seeds": "over_seeds:SeedRunsRequest",
    "path-integral": "path_integral:PathIntegralRequest",
    "spot-check": "spot_check:SpotCheckRequest",
    "scorecard": "scorecard.request:ScorecardRequest",
    "leaderboard": "leaderboard.request:LeaderboardRequest",
    "two-stage": "two_stage:TwoStageRequest",
    "self-influence": "self_influence:SelfInfluenceRequest",
    "setting-sweep": "setting_sweep:SettingSweepRequest",
    "group-effect": "groups:GroupRequest",
    "lds-ladder": "lds_ladder:LadderRequest",
    "linear-range": "linear_range:LinearRangeRequest",
    "removal-curve": "removal_curve:RemovalRequest",
    "removal-curves": "removal_curve:RemovalCurvesRequest",
    "stream": "streams:StreamRequest",
    "subset-bank": "subset_bank:SubsetBankRequest",
    "run-errors": "run_errors:RunErrorsRequest",
    "what-taught": "poison.taught:WhatTaughtRequest",
    "remove-suspects": "poison.retraining:RemoveSuspectsRequest",
})


def register(kind: type[Request]) -> type[Request]:
    """Make a request of a plugin known as a command, by its name; a decorator of its class."""
    REQUESTS.add(kind.name, kind, replace=True)
    return kind


def request(name: str) -> type[Request]:
    """The class of the request `name`. Raises `InvalidInput` for an unknown one."""
    where = REQUESTS[name]
    return cast("type[Request]", declared(f"analysis.{where}")) if isinstance(where, str) else where


def summary(name: str) -> str:
    """The first paragraph of its docstring; of ours it is read without importing them."""
    where = REQUESTS[name]
    if isinstance(where, str):
        return first_paragraph(f"analysis.{where}")
    return (inspect.getdoc(where) or "").partition("\n\n")[0]


def declared(where: str) -> type[JobRequest]:
    """The class `MODULE:CLASS` of the engine."""
    module, _, kind = where.partition(":")
    return cast("type[JobRequest]", getattr(import_module(f"{__name__.rsplit('.', 2)[0]}.{module}"), kind))


def first_paragraph(where: str) -> str:
    """That of the docstring of the class `MODULE:CLASS` of the engine, read without importing it."""
    module, _, kind = where.partition(":")
    file = Path(__file__).parents[1].joinpath(*module.split(".")).with_suffix(".py")
    tree = ast.parse(file.read_text(encoding="utf-8"))
    node = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == kind)
    return (ast.get_docstring(node) or "").partition("\n\n")[0]
