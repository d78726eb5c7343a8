"""`caches` shows and removes what trainings of language models keep; `attribute` scores records for queries."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engine.basics.errors import InvalidInput
from engine.basics.files import atomic_write
from engine.basics.sizes import spell_bytes
from engine.cli.language_run import LanguageRun
from engine.cli.setting import Machine

if TYPE_CHECKING:
    import pandas as pd

    from engine.applications.language.run import AttributionRequest
    from engine.store.results import Result

ALL, SHOWN = "all", 10


def caches(
    delete: Annotated[list[str] | None, typer.Option(help="A training to remove, with its gradients, by its digest, "
                                                          "or `all`; repeatable.", metavar="DIGEST")] = None,
) -> None:
    """List and delete trainings and cached gradients of language models."""
    from engine.applications.language import trainings
    from engine.models.causal import stored_trainings

    _delete(delete or [])
    listed = stored_trainings.trainings()
    if not listed:
        print("No training of a language model is stored.")
        return
    busy = trainings.busy()
    for training in listed:
        print(f"{training.digest}  {spell_bytes(training.size):>8}  {trainings.title(training)}"
              + ("  (in use)" if training.digest in busy else ""))
    total = spell_bytes(sum(training.size for training in listed))
    print(f"{total} in all; --delete DIGEST removes one, --delete {ALL} every one. Results are not deleted.")


def attribute(
    out: Annotated[Path, typer.Option(help="Every training record with its score under each estimator and behavior, "
                                           "the mean over the queries.", metavar="CSV")],
    by_query: Annotated[Path | None, typer.Option(help="The same scores by query: a row for each query and record.",
                                                  metavar="CSV")] = None,
    method: Annotated[str, typer.Option(help="Estimator of the printed ranking: tracin, gradsim, trak, less, repsim, "
                                             "gradient_norm or random.")] = "tracin",
    behavior: Annotated[str, typer.Option(help="Behavior of the printed ranking (default: the last that the queries "
                                               "allow).")] = "",
    query: Annotated[int | None, typer.Option(help="Print the ranking for this query alone, counted from 0.",
                                              min=0)] = None,
    new_candidates: Annotated[Path | None, typer.Option(
        help="Records (JSONL) outside the training data to score instead of the training records, by methods whose "
             "intervention adds an occurrence.", metavar="JSONL")] = None,
    keep_gradients: Annotated[bool, typer.Option("--keep-gradients", help=(
        "Keep the gradients on disk for attribute-record, other queries and the page."))] = False,
    run: LanguageRun = LanguageRun(),
    machine: Machine = Machine(),
) -> None:
    """Fine-tune a language model, and score its training records for queries (resumable)."""
    from engine.applications.language.methods import METHODS
    from engine.applications.language.trainings import caches_removed
    from engine.cli.score_files import check_output

    for path in filter(None, (out, by_query)):
        check_output(path, ".csv", inputs=tuple(filter(None, [new_candidates])))
    METHODS[method]
    request = run.request
    if new_candidates and (by_query or query is not None):
        raise InvalidInput("Scores per query are available only for training records; leave out --new-candidates, or "
                           "--by-query and --query.")
    with nullcontext() if keep_gradients else caches_removed():
        if new_candidates:
            _attribute_new(request, new_candidates, out, machine)
        else:
            _attribute(request, out, by_query, (method, behavior, query), machine)


def _attribute_new(request: AttributionRequest, records: Path, out: Path, machine: Machine) -> None:
    from engine.applications.language.new_records import NewRecordsRequest
    from engine.cli.progress import run_shown
    from engine.data.records import read_jsonl
    from engine.store import exports

    new = NewRecordsRequest(run=request, records=read_jsonl(records))
    atomic_write(out, exports.csv(run_shown("attribution", new.name, new.payload, machine), "records"))
    print(f"Written: {out}")


def _attribute(request: AttributionRequest, out: Path, by_query: Path | None, ranking: tuple[str, str, int | None],
               machine: Machine) -> None:
    """ranking: the method, behavior and query whose ranking is printed."""
    from engine.applications.language.by_query import QueryScoresRequest, named_column, of_query
    from engine.cli.progress import run_shown
    from engine.store import exports

    method, behavior, query = ranking
    result = run_shown("attribution", request.name, request.payload, machine)
    table = result.table("records")
    atomic_write(out, exports.csv(result, "records"))
    shown = named_column(list(table), result.manifest["behaviors"], method, behavior)
    if by_query is not None or query is not None:
        apart = QueryScoresRequest(run=request)
        each = run_shown("scores of each query", apart.name, apart.payload, machine)
        if query is not None:
            table = of_query(table, each.table("by_query"), _known(query, len(result.table("queries"))))
        if by_query is not None:
            atomic_write(by_query, exports.csv(each, "by_query"))
    _report(result, table, shown, query)
    print(f"Written: {' and '.join(str(path) for path in (out, by_query) if path)}")


def _known(query: int, count: int) -> int:
    if query >= count:
        raise InvalidInput(f"There is no query {query}; choose one of 0 to {count - 1:,}.")
    return query


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
        raise InvalidInput(f"`{given}` is too short to identify a training run; give at least eight digits of a "
                           "digest.")
    named = [digest for digest in known if digest.startswith(given)]
    if len(named) != 1:
        raise InvalidInput(f"`{given}` names {'no' if not named else 'more than one'} training; give a digest that "
                           "`caches` lists, with at least eight digits.")
    return named[0]


def _report(result: Result, table: pd.DataFrame, shown: str, query: int | None) -> None:
    """Print what was cut, how well the sources were found, and which records rank first by the column `shown`."""
    import pandas as pd

    from engine.question import direction
    from engine.question.behaviors import BEHAVIORS

    facts = result.manifest["facts"]
    if facts["truncated"]:
        print(f"Training records longer than the context, cut at the start of the prompt: "
              f"{facts['truncated']:,}.")
    if "unmarked" in facts:
        print(f"Scored by {facts['scored_parameters']:,} parameters; {facts['unmarked']:,} records have no scored "
              "token and the score 0.")
    print(result.manifest["sketch"]["sentence"])
    if "detection" in result.tables:
        detection = result.table("detection")
        print(detection[detection["metric"] == "AUPRC"].to_string(index=False, float_format="{:.3f}".format))
    best = table.sort_values(shown, ascending=False).head(SHOWN)
    behavior = BEHAVIORS[name] if (name := shown.split("|")[1]) in result.manifest["behaviors"] else None
    print(f"\nThe records that support {'the queries' if query is None else f'query {query}'} most by {shown} "
          f"({direction.larger(behavior)}):")
    print(pd.DataFrame({"record": best["id"], "score": best[shown].map("{:.3e}".format),
                        "response": best["response"].str[:70]}).to_string(index=False))
