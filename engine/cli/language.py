"""`caches` shows and removes what trainings of language models keep; `attribute` scores records for queries."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engine.basics.errors import InvalidInput
from engine.basics.files import atomic_write
from engine.basics.sizes import spell_bytes
from engine.basics.strict_json import parse_json
from engine.basics.values import LARGEST_SEED
from engine.cli.setting import Machine

if TYPE_CHECKING:
    import pandas as pd

    from engine.applications.language.run import AttributionRequest
    from engine.store.results import Result

ALL, SHOWN = "all", 10


def caches(
    delete: Annotated[list[str] | None, typer.Option(help="A training to remove with its gradients, by its digest, or "
                                                          "`all`; repeat it for several.", metavar="DIGEST")] = None,
) -> None:
    """List what trainings of language models keep on disk, and remove it."""
    from engine.applications.language import trainings
    from engine.models.causal import stored_trainings

    _delete(delete or [])
    listed = stored_trainings.trainings()
    if not listed:
        print("No training of a language model is kept.")
        return
    busy = trainings.busy()
    for training in listed:
        print(f"{training.digest}  {spell_bytes(training.size):>8}  {trainings.title(training)}"
              + ("  (in use)" if training.digest in busy else ""))
    total = spell_bytes(sum(training.size for training in listed))
    print(f"{total} in all; --delete DIGEST removes one, --delete {ALL} every one. Results are kept.")


def attribute(
    run: Annotated[str, typer.Option(help="Language model, task, recipe, seed and, if you like, records to explain, as "
                                          "JSON or a file of it, as the Language models page gives them.",
                                     metavar="JSON")],
    out: Annotated[Path, typer.Option(help="Every training record with its score under each estimator and behavior.",
                                      metavar="CSV")],
    new_candidates: Annotated[Path | None, typer.Option(
        help="Records as JSONL that are not trained on, to score in place of the training records by the methods "
             "whose intervention adds.", metavar="JSONL")] = None,
    machine: Machine = Machine(),
) -> None:
    """Fine-tune a language model, and score its training records for queries (resumable)."""
    from engine.applications.language.new_records import NewRecordsRequest
    from engine.cli.progress import run_shown
    from engine.cli.score_files import check_output
    from engine.data.records import read_jsonl
    from engine.store import exports

    check_output(out, ".csv", inputs=tuple(filter(None, [new_candidates])))
    request = read_run(run)
    if new_candidates:
        new = NewRecordsRequest(run=request, records=read_jsonl(new_candidates))
        atomic_write(out, exports.csv(run_shown("attribution", new.name, new.payload, machine), "records"))
        print(f"Written: {out}")
        return
    result = run_shown("attribution", request.name, request.payload, machine)
    table = result.table("records")
    atomic_write(out, exports.csv(result, "records"))
    _tell(result, table)
    print(f"Written: {out}")


def read_run(text: str) -> AttributionRequest:
    """The run of the JSON that the page gives, or of the file that it names. Where it says nothing of a projection,
    gradients are stored as a run of the page stores them."""
    from engine.applications.language.attribution import Setting
    from engine.applications.language.run import AttributionRequest
    from engine.data.records import Record
    from engine.experiments.language_study import BUDGET

    data = parse_json(text if text.lstrip().startswith(("{", "[")) else _content(text), "--run",
                      "copy it from the page, quotes included")
    if not isinstance(data, dict):
        raise InvalidInput("--run is no JSON object; write {\"model\": …, \"task\": …}.")
    rest = {key: value for key, value in data.items() if key not in ("seed", "asked")}
    seed, explained = data.get("seed", 0), data.get("asked", [])
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed <= LARGEST_SEED:
        raise InvalidInput(f"`seed` is {str(seed)[:40]}; give a whole number from 0 to {LARGEST_SEED:,}.")
    if not isinstance(explained, list):
        raise InvalidInput("`asked` is no list; give the records to explain, each with a prompt and a response.")
    return AttributionRequest(setting=Setting.parse({"projection": {"budget": BUDGET}, **rest}), seed=seed,
                              explained=tuple(Record.parse(item) for item in explained))


def _content(name: str) -> bytes:
    """What the file holds that --run names."""
    try:
        return Path(name).read_bytes()
    except (OSError, ValueError) as error:  # a name may also be too long, or hold a zero byte
        reason = error.strerror if isinstance(error, OSError) else "no name of a file"
        raise InvalidInput(f"--run names `{name[:80]}`, which cannot be read ({reason}); give JSON, or a file of "
                           "it.") from None


def _delete(given: list[str]) -> None:
    """Remove the trainings of the digests given, or all."""
    from engine.applications.language import trainings
    from engine.models.causal import stored_trainings

    named = [training.digest for training in stored_trainings.trainings()]
    for digest in named if ALL in given else [_digest(text, named) for text in given]:
        print(f"Deleted {digest}: {spell_bytes(trainings.delete(digest))} freed.")


def _digest(given: str, known: list[str]) -> str:
    """The whole digest of what was typed, at least eight digits of it."""
    if len(given) < 8:
        raise InvalidInput(f"`{given}` is too short to name a training; give eight digits of a digest at least.")
    named = [digest for digest in known if digest.startswith(given)]
    if len(named) != 1:
        raise InvalidInput(f"`{given}` names {'no' if not named else 'more than one'} training; give a digest that "
                           "`caches` lists, eight digits at least.")
    return named[0]


def _tell(result: Result, table: pd.DataFrame) -> None:
    """Print what was cut, how well the sources were found, and which records rank first."""
    import pandas as pd

    from engine.applications.language.run import column
    from engine.question import direction
    from engine.question.behaviors import BEHAVIORS

    facts = result.manifest["facts"]
    if facts["truncated"]:
        print(f"Training records that were longer than the context and lost the start of their prompt: "
              f"{facts['truncated']:,}.")
    print(result.manifest["sketch"]["sentence"])
    if "detection" in result.tables:
        detection = result.table("detection")
        print(detection[detection["metric"] == "AUPRC"].to_string(index=False, float_format="{:.3f}".format))
    shown = column("tracin", result.manifest["behaviors"][-1])
    best = table.sort_values(shown, ascending=False).head(SHOWN)
    print(f"\nThe records that support the queries most by {shown} "
          f"({direction.larger(BEHAVIORS[result.manifest['behaviors'][-1]])}):")
    print(pd.DataFrame({"record": best["id"], "score": best[shown].map("{:.3e}".format),
                        "response": best["response"].str[:70]}).to_string(index=False))
