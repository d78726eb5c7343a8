"""`scorecard`: methods × benchmarks on one problem, with the exact answers and the controls beside them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engine.basics.csv_text import csv_text
from engine.basics.files import atomic_write
from engine.cli.setting import Data, Setting

if TYPE_CHECKING:
    from engine.analysis.scorecard import Benchmark, Case


def scorecard(
    data: Data,
    out: Annotated[Path, typer.Option(help="Card to write: a row for each benchmark, measure and method.",
                                      metavar="CSV")],
    benchmark: Annotated[list[str] | None, typer.Option(help="A benchmark; repeat it (default: all).")] = None,
    method: Annotated[list[str] | None, typer.Option(help="A method; repeat it (default: all that fit).")] = None,
    behavior: Annotated[str, typer.Option(help="What is read off models; `list` shows them.")] = "query_loss",
    models: Annotated[int, typer.Option(help="Models on subsets, of each size.", min=3, max=10_000)] = 50,
    queries: Annotated[int, typer.Option(help="Queries whose top is removed.", min=1, max=10_000)] = 10,
    repeats: Annotated[int, typer.Option(help="Repetitions with other marks on the data.", min=1, max=100)] = 3,
    seeds: Annotated[int, typer.Option(help="Training seeds for stability.", min=2, max=100)] = 3,
    seed: Annotated[int, typer.Option(help="Seed of subsets and marks.", min=0)] = 0,
    setting: Setting = Setting(),
) -> None:
    """Run benchmarks of rankings, and say which question each of them asks."""
    import pandas as pd

    from engine.analysis.scorecard import BENCHMARKS, Case, Sizes, card, fitting, running
    from engine.cli.problem import read_problem
    from engine.cli.progress import progress
    from engine.cli.score_files import check_output
    from engine.runs.scorecard import check
    from engine.store.results import Store

    check_output(out, ".csv", inputs=(data,))
    problem = read_problem(data, setting)
    check(type(problem), method or (), benchmark or ())
    asked = [BENCHMARKS[name] for name in benchmark or running(type(problem))]
    parts, sizes = [], Sizes(candidates=max(10, len(problem.candidates)), models=models, queries=queries,
                             repeats=repeats, seeds=seeds, seed=seed)
    for one in asked:
        with progress(one.title) as move:
            case = Case(problem, method or fitting(type(problem)), behavior, sizes, Store(),
                        setting.options(move))
            print(_cost(one, case), end="")
            parts.append(card.rows(one, one.measure(case)))
        print(f"{one.title}: {one.question}")
        for sentence in card.verdicts(one, parts[-1], behavior):
            print(f"  {sentence}")
    atomic_write(out, csv_text(pd.concat(parts)))


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
