"""`preview-data` says what is understood of a user's own data, `clean-data` writes them without what is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from engine.basics.errors import InvalidInput
from engine.basics.files import atomic_write, read_whole
from engine.cli.reading import CHANGES, OwnData, read_columns, say

SCRIPT, RECORDS = ".sh", ".jsonl"


def preview_data(read: OwnData = OwnData()) -> None:
    """Show how your own data are read: classes, counts, sizes, colour, and what is left out and why."""
    import pandas as pd

    from engine.cli.progress import progress
    from engine.data import records, uploads
    from engine.data.preview import preview

    if read.data is None:
        raise InvalidInput("No data are given; give --data.")
    given = read.fields
    with progress("read") as move, records.reporting(move):
        name = uploads.keep_path(read.data, **given)
    read_as, dataset = preview(name), uploads.load(name)
    say(dataset)
    print(read_as.sentence)
    classes = pd.DataFrame([{"class": one.name, "examples": one.train, "test": one.test,
                             "smallest": _size(one.smallest), "largest": _size(one.largest),
                             "for example": one.example} for one in read_as.classes])
    sizes = [] if classes["largest"].any() else ["smallest", "largest"]
    print(classes.drop(columns=sizes).to_string(index=False))
    if given.get("classes") or given.get("trusted"):
        print(f"Read as {dataset.n_classes} classes ({', '.join(dataset.class_names[:20])}): {len(dataset.y_train):,} "
              f"examples to search, {len(dataset.y_test):,} others.")
    for file, why in read_as.left_out[:50]:
        print(f"Not read: {file}: {why}")
    if len(read_as.left_out) > 50:
        print(f"… and {len(read_as.left_out) - 50:,} more.")


def clean_data(
    changes: Annotated[Path, typer.Option(help=f"{CHANGES} For records: the decisions that their desk writes.",
                                          metavar="CSV")],
    out: Annotated[Path, typer.Option(help="The cleaned copy in the format of --data (a folder becomes a zip), or a "
                                           "shell script of the moves if the name ends in .sh.", metavar="PATH")],
    read: OwnData = OwnData(),
) -> None:
    """Write a copy of your own data with corrected labels and without removed examples; the original is not changed."""
    from engine.applications.noisy_labels import cleaning
    from engine.applications.noisy_labels.decision_file import read_decisions
    from engine.applications.noisy_labels.own import own_source
    from engine.cli.score_files import check_output
    from engine.data.record_forms import are_records

    if read.data is None:
        raise InvalidInput("No data are given; give --data.")
    if read.data.suffix == RECORDS and are_records(read_whole(read.data, "file")):
        return _clean_records(read, changes, out)
    listed = read_decisions(changes)
    noisy = own_source(read.data, {}, read.fields).draw()
    say(noisy.dataset)
    form = cleaning.format_of(noisy)
    check_output(out, SCRIPT if out.suffix == SCRIPT else form.suffix, inputs=[changes, *read.inputs])
    decided = {decision.row: decision for decision in listed.decisions(noisy)}
    atomic_write(out, cleaning.script(noisy, decided) if out.suffix == SCRIPT else cleaning.copy(noisy, decided))
    after = cleaning.outcome(noisy, decided)
    print(f"{len(after.labels):,} examples are left: {after.relabelled:,} with a corrected label, "
          f"{len(after.removed):,} removed.")
    print(f"Written: {out}")


def _clean_records(read: OwnData, changes: Path, out: Path) -> None:
    """A JSONL of records with right answers and responses, without those that are taken out."""
    from engine.applications.decisions import WRONG
    from engine.applications.language.review import CORRECTED, VERDICTS, corrected, without
    from engine.cli.progress import progress
    from engine.cli.score_files import check_output
    from engine.data.record_rewriting import rewritten
    from engine.data.records import read_jsonl, reporting

    if read != OwnData(data=read.data):
        raise InvalidInput("Records are cleaned as they are in the file; leave out the options that say how --data is "
                           "read.")
    assert read.data is not None
    check_output(out, RECORDS, inputs=[changes, read.data])
    with progress("read") as move, reporting(move):
        records = read_jsonl(read.data)
    listed = dict(read_columns(changes, "record", "id"))
    strangers = [index for index, name in listed.items()
                 if not index.isdecimal() or int(index) >= len(records) or records[int(index)].id != name]
    if strangers:
        raise InvalidInput(f"`{changes}` names record {strangers[0][:20]}, which `{read.data}` does not have under "
                           f"the id `{listed[strangers[0]][:60]}`; give the decisions about these records.")
    verdicts = dict(read_columns(changes, "record", "verdict"))
    known = (*VERDICTS.values(), CORRECTED)
    if unknown := set(verdicts.values()) - set(known):
        raise InvalidInput(f"`{min(unknown)[:40]}` is not a verdict; use {', '.join(known)}.")
    changed = {int(index) for index, verdict in verdicts.items() if verdict == CORRECTED}
    answers = dict(read_columns(changes, "record", "answer")) if changed else {}
    mended = [corrected(record, answers[str(row)]) if row in changed else record
              for row, record in enumerate(records)]
    left = without(mended, {int(index) for index, verdict in verdicts.items() if verdict == VERDICTS[WRONG]})
    atomic_write(out, rewritten(read.data.read_bytes(), records, left))
    fixed = f", {len(changed):,} with a corrected answer or response" if changed else ""
    print(f"{len(left):,} records are left: {len(records) - len(left):,} removed{fixed}.")
    print(f"Written: {out}")


def _size(size: tuple[int, int] | None) -> str:
    return "" if size is None else f"{size[0]} × {size[1]}"
