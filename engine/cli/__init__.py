"""The command line: `python -m engine COMMAND`. A new command is one file and its line here.

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
    at_scale,
    bring,
    datamodel,
    explain,
    export_problem,
    extract,
    groups,
    influence,
    language,
    noisy_labels,
    over_seeds,
    overview,
    own_data,
    path_integral,
    pretrain,
    recipe,
    recording,
    reproduce,
    scorecard,
    serve,
    spot_check,
    statements,
    subsets,
)
from engine.cli.analyses import declared
from engine.cli.program import Commands, run

COMMANDS: Commands = {
    "run": serve.run,
    "influence": influence.influence,
    "compare": influence.compare,
    "explain": explain.explain,
    "spot-check": spot_check.spot_check,
    "datamodel": datamodel.datamodel,
    "self-influence": declared("self-influence"),
    "error-surface": declared("error-surface"),
    "map": declared("embedding"),
    "subsets": subsets.subsets,
    "data-values": subsets.data_values,
    "group": groups.group,
    "removal-curve": groups.removal_curve,
    "recipe": recipe.recipe,
    "bring": bring.bring,
    "scorecard": scorecard.scorecard,
    "linear-range": declared("linear-range"),
    "run-errors": declared("run-errors"),
    "over-seeds": over_seeds.over_seeds,
    "recording": recording.recording,
    "path-integral": path_integral.path_integral,
    "reproduce": reproduce.reproduce,
    "statements": statements.statements,
    "noisy-labels": noisy_labels.noisy_labels,
    "what-if-labels": noisy_labels.what_if_labels,
    "preview-data": own_data.preview_data,
    "clean-data": own_data.clean_data,
    "attribute": language.attribute,
    "at-scale": at_scale.at_scale,
    "caches": language.caches,
    "pretrain-embedded": pretrain.pretrain_embedded,
    "extract-fashion": extract.extract_fashion,
    "export-problem": export_problem.export_problem,
    "list": overview.list_choices,
    "doctor": overview.doctor,
}

__all__ = ["COMMANDS", "main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command (default: the process's own arguments) and return its exit code."""
    settle()
    return run({**COMMANDS, **_of_plugins()}, arguments)


def _of_plugins() -> Commands:
    """The commands of the requests that plugins register."""
    if not plugins.named():
        return {}
    with suppress(InvalidInput):  # it is said when a command begins
        plugins.load()
    return {name: declared(name) for name, kind in REQUESTS.items() if not isinstance(kind, str) and kind.outputs}
