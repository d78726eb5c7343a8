"""`scorecard`: methods × benchmarks on one problem, with the exact answers and the controls beside them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engine.basics.csv_text import csv_text
from engine.basics.files import atomic_write
from engine.cli.protocol import Among, Protocol
from engine.cli.setting import Data, Setting

if TYPE_CHECKING:
    import pandas as pd

    from engine.analysis.scorecard import Benchmark, Case


def scorecard(
    data: Data,
    out: Annotated[Path, typer.Option(help="Card to write: a row a benchmark, measure and method.", metavar="CSV")],
    benchmark: Annotated[list[str] | None, typer.Option(help="A benchmark; repeat it (default: all).")] = None,
    method: Annotated[list[str] | None, typer.Option(help="A method; repeat it (default: all that fit).")] = None,
    behavior: Annotated[str, typer.Option(help="What is read off models; `list` shows them.")] = "query_loss",
    models: Annotated[int, typer.Option(help="Models on subsets, of each size.", min=3, max=10_000)] = 50,
    queries: Annotated[int, typer.Option(help="Queries whose top is removed.", min=1, max=10_000)] = 10,
    repeats: Annotated[int, typer.Option(help="Repetitions with other marks on the data.", min=1, max=100)] = 3,
    seeds: Annotated[int, typer.Option(help="Training seeds: ceilings, spread, stability.", min=2, max=100)] = 3,
    seed: Annotated[int, typer.Option(help="Seed of subsets and marks.", min=0)] = 0,
    protocol: Protocol = "weights",
    among: Among = "candidates",
    setting: Setting = Setting(),
) -> None:
    """Run benchmarks of rankings, and say which question each of them asks."""
    import pandas as pd

    from engine.analysis.scorecard import BENCHMARKS, Case, Sizes, card, check, fitting, running
    from engine.cli.problem import read_problem
    from engine.cli.progress import progress
    from engine.cli.score_files import check_output
    from engine.store.results import Store

    check_output(out, ".csv", inputs=(data,))
    problem = read_problem(data, setting)
    check(type(problem), method or (), benchmark or ())
    asked = [BENCHMARKS[name] for name in benchmark or running(type(problem))]
    sizes = Sizes.parse({"candidates": max(10, len(problem.candidates)), "models": models, "queries": queries,
                         "repeats": repeats, "seeds": seeds, "seed": seed, "protocol": protocol, "among": among})
    parts, methods = [], method or fitting(type(problem))
    for one in asked:
        with progress(one.title) as move:
            case = Case(problem, methods, behavior, sizes, Store(), setting.options(move))
            print(_cost(one, case), end="")
            parts.append(card.rows(one, one.measure(case), sizes))
        for line in _said(one, parts[-1], behavior, protocol):
            print(line)
    atomic_write(out, csv_text(pd.concat(parts)))


def _said(benchmark: Benchmark, table: pd.DataFrame, behavior: str, protocol: str) -> Iterator[str]:
    """What is printed of a benchmark: its question, its protocol, its ceilings, and what its scores do not show."""
    from engine.analysis.protocols import PROTOCOLS
    from engine.analysis.scorecard import CEILING, card, reasons

    yield f"{benchmark.title}: {benchmark.question}"
    if benchmark.retrains:
        yield f"  Protocol `{protocol}`: {PROTOCOLS[protocol].definition} It asks for {PROTOCOLS[protocol].estimand}"
    for _, row in table[table["method"] == CEILING].iterrows():
        yield f"  {card.counted(row)}"
    for sentence in card.verdicts(benchmark, table, behavior):
        yield f"  {sentence}"
    for measure in table["measure"].unique():
        for sentence in reasons.reasons(benchmark, table, measure):
            yield f"  {sentence}"


def _cost(benchmark: Benchmark, case: Case) -> str:
    """How often a benchmark trains, and about how long that takes; empty where it does not."""
    from engine.analysis.scorecard.benchmark import removal
    from engine.scoring.cost import guess

    count = benchmark.trainings(case.sizes, len(case.methods))
    if not count:
        return ""
    seconds = guess([removal(case.behavior)], case.problem, count)
    return (f"{benchmark.title}: up to {count:,} trainings, beside those of the methods; about "
            f"{max(1.0, seconds):,.0f} s on two cores.\n")
