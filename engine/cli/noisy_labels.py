"""`noisy-labels` scores every training label, `what-if-labels` trains again with some of them changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engine.basics.csv_text import csv_text
from engine.basics.errors import InvalidInput
from engine.basics.files import atomic_write
from engine.cli.reading import CHANGES, OwnData, say
from engine.cli.setting import Machine

if TYPE_CHECKING:
    from engine.applications.noisy_labels.search import Scored
    from engine.applications.noisy_labels.source import NoisyData, NoisySource
    from engine.store.external_scores import ExternalScores


@dataclass(frozen=True)
class SearchedData(OwnData):
    """What is searched: a source as the page gives it, or a user's own data, of which a source may say the rest."""

    source: Annotated[str, typer.Option(help="Data, noise, model and seed as JSON, as shown on the Noisy labels page; "
                                             "with --data, without the dataset.", metavar="JSON")] = ""
    trust_labels_in_doubt: Annotated[bool, typer.Option(
        "--trust-labels-in-doubt", help="Trust some of the unverified labels if the data have no verified ones; the "
                                        "results say so.")] = False

    def chosen(self) -> NoisySource:
        """The source. Raises `InvalidInput` or `MissingData` with what to do."""
        from engine.applications.noisy_labels.origin import IN_DOUBT
        from engine.applications.noisy_labels.own import own_source
        from engine.applications.noisy_labels.source import NoisySource
        from engine.cli.spec_files import parse_source

        if not self.source and self.data is None:
            raise InvalidInput("No data are given; pass your own with --data, or --source.")
        given = parse_source(self.source) if self.source else {}
        if not isinstance(given, dict):
            raise InvalidInput("--source is not a JSON object; write {\"dataset\": …, \"model\": …}.")
        if self.trust_labels_in_doubt:
            given = {**given, "trusted_from": IN_DOUBT}
        reading = self.fields
        if self.data is None:
            return NoisySource.parse(given)
        if "dataset" in given:
            raise InvalidInput("Both --data and --source specify the data; leave `dataset` out of --source.")
        return own_source(self.data, given, reading)


def noisy_labels(
    out: Annotated[Path, typer.Option(help="The suspicion of every training label, by method and trusted behavior.",
                                      metavar="CSV")],
    scores: Annotated[list[Path] | None, typer.Option(help="Scores of another program, one for each label, ranked "
                                                           "alongside the methods, or predicted probabilities, one "
                                                           "column per class; repeatable.",
                                                      metavar="PATH")] = None,
    sign: Annotated[str, typer.Option(help="Sign of --scores: plus if a larger score means that the label is more "
                                           "likely to be wrong, minus if a smaller one does, or auto (by the "
                                           "consensus of the methods)."
                                      )] = "auto",
    searched: SearchedData = SearchedData(),
    machine: Machine = Machine(),
) -> None:
    """Rank training labels by how likely they are wrong (resumable)."""
    from engine.applications.noisy_labels.drawing import draw_cached
    from engine.applications.noisy_labels.fault import fault
    from engine.applications.noisy_labels.held_out import MISJUDGED, HeldOutRequest
    from engine.applications.noisy_labels.judge import judge
    from engine.applications.noisy_labels.search import SuspicionRequest
    from engine.cli.progress import run_shown
    from engine.cli.score_files import check_output

    check_output(out, ".csv", inputs=[*searched.inputs, *(scores or [])])
    request = SuspicionRequest(source=searched.chosen())
    noisy = draw_cached(request.source)
    say(noisy.dataset)
    theirs = _tables(noisy, scores or [])
    held = HeldOutRequest(source=request.source)
    first = held.loaded(run_shown("first suspects", held.name, held.payload, machine))
    print(f"Confident learning counts {first.count.sentence(len(noisy.rows))} as wrong. {MISJUDGED}")
    scored = request.answered(run_shown("noisy labels", request.name, request.payload, machine))
    scored = _with_external(noisy, scored, theirs, sign)
    atomic_write(out, csv_text(scored.table(noisy)))
    _report(noisy, scored)
    if judged := judge(noisy, scored.facts["test_accuracy"]):
        print(f"{judged.measured} {at_fault}" if (at_fault := fault(judged, first)) else judged.sentence)
    print(f"Written: {out}")


def _tables(noisy: NoisyData, paths: Sequence[Path]) -> dict[str, ExternalScores]:
    """Name -> the scores in files of other programs, read before anything is trained."""
    from engine.applications.noisy_labels.external import matched
    from engine.external.files import names, read_table, sources

    files = [file for path in paths for file in sources(path)]
    return {name: matched(noisy, read_table(file), file.name)
            for name, file in zip(names([str(file) for file in files]), files, strict=True)}


def _with_external(noisy: NoisyData, scored: Scored, theirs: Mapping[str, ExternalScores], sign: str) -> Scored:
    """The search with the scores of other programs. Raises `InvalidInput` where nothing tells which way they stand."""
    from engine.applications.noisy_labels import external
    from engine.store import external_scores

    settings = []
    for name, held in theirs.items():
        direction = external.direction(scored, held)
        if sign == "auto" and not direction.sign:
            raise InvalidInput(f"{name}: {direction.sentence} Give --sign plus, or --sign minus.")
        settings.append(external.settings_of(held, name, direction.sign if sign == "auto" else sign, direction))
        external_scores.keep(held)
        print(f"{name}: {direction.sentence}" if sign == "auto" else f"{name}: {external.MEANING[sign]}, as given.")
    return external.with_external(scored, noisy, settings)


def _report(noisy: NoisyData, scored: Scored) -> None:
    """Print where the trusted examples come from, what was made wrong, and, where that is known, how much is found."""
    import pandas as pd

    from engine.metrics.detection import detection

    print(noisy.trusted_origin)
    if noisy.corrupted_count:
        print(f"{noisy.corrupted_count:,} of {len(noisy.rows):,} labels were corrupted (label noise).")
    if noisy.flags is None or not noisy.flags.noisy.any():
        print("The labels are searched as given; it is unknown which are wrong, so detection cannot be measured. The "
              "file contains the ranking.")
        return
    rows = [{"method": pair.title, **detection(noisy.flags.noisy, values)} for pair, values in scored.suspicion.items()]
    print(pd.DataFrame(rows).to_string(index=False, float_format="{:.3f}".format))


def what_if_labels(
    changes: Annotated[Path, typer.Option(help=CHANGES, metavar="CSV")],
    out: Annotated[Path, typer.Option(help="Output accuracies, before and after.", metavar="CSV")],
    seeds: Annotated[int, typer.Option(help="Training seeds; each trains on the original and on the changed labels.",
                                       min=1, max=100)] = 3,
    folds: Annotated[int | None, typer.Option(help="Number of folds to measure out of fold on the corrected labels "
                                                   "instead of on test examples (default: 5 if the data have none).",
                                              min=2, max=20)] = None,
    searched: SearchedData = SearchedData(),
    machine: Machine = Machine(),
) -> None:
    """Retrain without some examples, or with other labels, and compare accuracies (resumable)."""
    from engine.applications.noisy_labels.cross_validation import FOLDS, CrossValidationRequest
    from engine.applications.noisy_labels.decision_file import read_decisions
    from engine.applications.noisy_labels.drawing import draw_cached
    from engine.applications.noisy_labels.retraining import RetrainingRequest, WhatIfRequest
    from engine.applications.noisy_labels.review import consequences
    from engine.cli.progress import run_shown
    from engine.cli.score_files import check_output

    check_output(out, ".csv", inputs=[changes, *searched.inputs])
    listed, chosen = read_decisions(changes), searched.chosen()
    noisy = draw_cached(chosen)
    removed, relabelled = consequences({decision.row: decision for decision in listed.decisions(noisy)})
    if not removed and not relabelled:
        raise InvalidInput(f"`{changes}` changes nothing: it marks no label as wrong; mark at least one.")
    training = RetrainingRequest(source=chosen, removed=tuple(removed), relabelled=relabelled)
    out_of_fold = folds is not None or not len(noisy.y_test)
    request = (CrossValidationRequest(training=training, folds=folds or FOLDS, seeds=seeds) if out_of_fold else
               WhatIfRequest(training=training, seeds=seeds))
    table = run_shown("what if", request.name, request.payload, machine).table("accuracy")
    atomic_write(out, csv_text(table))
    if out_of_fold:
        print(f"Both models are evaluated out of fold on {int(table['n_examples'].iloc[0]):,} corrected labels, in "
              f"{folds or FOLDS} folds.")
    print(noisy.trusted_origin)
    print(table.drop(columns="seed_means", errors="ignore").to_string(index=False, float_format="{:.4f}".format))
    print(f"Written: {out}")
