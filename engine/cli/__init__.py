"""The command line: `python -m engine COMMAND`. A new command is one file and its line here, under the heading of
`--help` where it belongs.

A command imports what it computes with when it runs, so that `--help` is quick.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from engine.analysis.catalogue import REQUESTS
from engine.basics import plugins
from engine.basics.environment import settle
from engine.basics.errors import InvalidInput
from engine.cli import (
    bring,
    development,
    export_dataset,
    export_problem,
    export_scores,
    influence,
    language,
    noisy_labels,
    overview,
    own_data,
    plan,
    recipe,
    recording,
    reproduce,
    serve,
    statements,
)
from engine.cli.analyses import declared
from engine.cli.program import HIDDEN, Commands, Panels, run

PANELS: Panels = {
    "Scores and their agreement": {
        "influence": influence.influence,
        "stream": declared("stream"),
        "compare": influence.compare,
        "explain": declared("explain"),
        "spot-check": declared("spot-check"),
        "self-influence": declared("self-influence"),
        "control-set": declared("control-set"),
        "error-surface": declared("error-surface"),
        "setting-sweep": declared("setting-sweep"),
        "map": declared("embedding"),
        "group": declared("group-effect"),
        "removal-curve": declared("removal-curves"),
        "two-stage": declared("two-stage"),
    },
    "Poison": {
        "what-taught": declared("what-taught"),
        "remove-suspects": declared("remove-suspects"),
    },
    "Models on subsets": {
        "subsets": declared("subset-bank"),
        "datamodel": declared("datamodel-scores"),
        "data-values": declared("data-values"),
        "lds-ladder": declared("lds-ladder"),
    },
    "Other programs and benchmarks": {
        "recipe": recipe.recipe,
        "bring": bring.bring,
        "export-scores": export_scores.export_scores,
        "scorecard": declared("scorecard"),
        "leaderboard": declared("leaderboard"),
    },
    "Training runs, seeds and paths": {
        "recording": recording.recording,
        "linear-range": declared("linear-range"),
        "run-errors": declared("run-errors"),
        "over-seeds": declared("mean-over-seeds"),
        "path-integral": declared("path-integral"),
    },
    "Own data and noisy labels": {
        "preview-data": own_data.preview_data,
        "noisy-labels": noisy_labels.noisy_labels,
        "label-trial": declared("applications.noisy_labels.trial:TrialRequest"),
        "what-if-labels": noisy_labels.what_if_labels,
        "near-duplicates": declared("applications.noisy_labels.duplicates:DuplicatesRequest"),
        "clean-data": own_data.clean_data,
        "export-dataset": export_dataset.export_dataset,
    },
    "Language models": {
        "attribute": language.attribute,
        "attribute-record": declared("applications.language.decomposition:TokensRequest"),
        "plan": plan.plan,
        "caches": language.caches,
    },
    "The paper": {
        "reproduce": reproduce.reproduce,
        "statements": statements.statements,
    },
    "The workbench and this machine": {
        "run": serve.run,
        "export-problem": export_problem.export_problem,
        "list": overview.list_choices,
        "doctor": overview.doctor,
    },
    HIDDEN: {
        "pretrain-embedded": development.pretrain_embedded,
        "extract-fashion": development.extract_fashion,
    },
}
COMMANDS: Commands = {name: command for panel in PANELS.values() for name, command in panel.items()}

__all__ = ["COMMANDS", "PANELS", "main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command (default: the process's own arguments) and return its exit code."""
    settle()
    return run({**PANELS, "Analyses of plugins": _of_plugins()}, arguments)


def _of_plugins() -> Commands:
    """The commands of the requests that plugins register."""
    if not plugins.named():
        return {}
    with suppress(InvalidInput):  # it is said when a command begins
        plugins.load()
    return {name: declared(name) for name, kind in REQUESTS.items() if not isinstance(kind, str) and kind.outputs}
