"""Where each request is declared, by its name: a new one is its file and a line here.

Modules are imported when they are needed, since the command line lists all names at once.
"""

from __future__ import annotations

import ast
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from engine.requests import Request

REQUESTS = {
    "datamodel": "engine.analysis.subset_bank:SubsetModelsRequest",
    "embedding": "engine.analysis.embedding:EmbeddingRequest",
    "error-surface": "engine.analysis.error_surfaces:ErrorSurfaceRequest",
    "over-seeds": "engine.analysis.over_seeds:SeedRunsRequest",
    "scorecard": "engine.analysis.scorecard.request:ScorecardRequest",
    "self-influence": "engine.analysis.self_influence:SelfInfluenceRequest",
    "group-effect": "engine.analysis.groups:GroupRequest",
    "linear-range": "engine.analysis.linear_range:LinearRangeRequest",
    "removal-curve": "engine.analysis.removal_curve:RemovalRequest",
    "run-errors": "engine.analysis.run_errors:RunErrorsRequest",
}


def request(name: str) -> type[Request]:
    """The class of the request `name`."""
    module, kind = REQUESTS[name].split(":")
    return cast("type[Request]", getattr(import_module(module), kind))


def summary(name: str) -> str:
    """The first paragraph of its docstring, read without importing it."""
    module, kind = REQUESTS[name].split(":")
    spec = find_spec(module)
    assert spec is not None and spec.origin is not None
    tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
    declared = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == kind)
    return (ast.get_docstring(declared) or "").partition("\n\n")[0]
