"""`influence` and `compare`: a user's problem and specifications in, scores or agreement out."""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tqdm import tqdm

from engine.analysis import comparison
from engine.basics.errors import InvalidInput
from engine.basics.files import atomic_write, write_together
from engine.basics.options import Options
from engine.cli.commands import PROGRAM
from engine.cli.networks import NetworkSetting
from engine.cli.specs import read_source, read_spec, read_specs
from engine.data import load_npz
from engine.metrics.agreement import METRICS, metric
from engine.problems import Problem, SoftmaxProblem
from engine.problems.source import SOFTMAX
from engine.scoring.compute import compute
from engine.scoring.scores import Scores
from engine.scoring.scoring import Scoring
from engine.store.sealed import plain

COLUMNS = ["a", "b", "metric", "mean", "ci95", "n_queries", "n_dropped", "verdict"]


@dataclass(frozen=True)
class Setting:
    """The options that `influence` and `compare` share; memory in GiB."""

    device: str = "auto"
    l2: float = 1e-4
    intercept: bool = False
    memory: float = 4.0
    network: NetworkSetting = NetworkSetting()

    def problem(self, data: Path) -> Problem:
        """The problem of a problem.npz, or the one that a problem.json names as the pages do.

        Raises `InvalidInput` for options that do not go together.
        """
        if data.suffix.lower() == ".json":
            return self._named(data)
        if self.network.model == SOFTMAX:
            if self.network != NetworkSetting():
                raise InvalidInput("--checkpoint, --shape, --parameters and --trajectory are of a network; name it "
                                   "with --model.")
            return SoftmaxProblem.from_arrays(load_npz(data), l2=self.l2, intercept=self.intercept, device=self.device)
        if self.intercept:
            raise InvalidInput("--intercept is of softmax regression; a network has its own biases.")
        return self.network.problem(load_npz(data), self.l2, self.device)

    def _named(self, data: Path) -> Problem:
        if (self.l2, self.intercept, self.network) != (Setting.l2, Setting.intercept, Setting.network):
            raise InvalidInput(f"`{data}` says itself what is trained, and how; leave out --l2, --intercept and the "
                               "options of a network, or change the file.")
        return read_source(data).build(self.device).problem

    @property
    def arguments(self) -> list[str]:
        flags = ["--intercept"] if self.intercept else []
        network = self.network.arguments if self.network.model != SOFTMAX else []
        return ["--device", self.device, "--l2", repr(self.l2), *flags, *network, "--memory", repr(self.memory)]


def budget(memory: float) -> int:
    """GiB as bytes. Raises `InvalidInput` for what is not a size."""
    if not 0 < memory < math.inf:
        raise InvalidInput(f"--memory is {memory}; give a positive number of GiB, such as 4.")
    return int(memory * 2**30)


def influence(data: Path, spec: Path, out: Path, setting: Setting) -> None:
    """Write scores.npz and its manifest, both or neither."""
    manifest = out.with_suffix(".json")
    check_output(out, ".npz", inputs=(data, spec), also=(manifest,))
    scoring = read_spec(spec)
    available, problem = budget(setting.memory), setting.problem(data)
    scores = _computed(problem, [scoring], available)[0]
    content = _npz(scores)
    record = {**scores.provenance, "command": _command("influence", data, "--spec", spec, out, setting),
              "files": {out.name: {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}}}
    write_together({out: content, manifest: json.dumps(plain(record), indent=1, ensure_ascii=False) + "\n"})


def compare(data: Path, specs: Path, out: Path, setting: Setting, scores: Sequence[Path] = (),
            further: Sequence[str] = ()) -> None:
    """Write agreement.csv: a row for each unordered pair and metric. scores: files of `bring` to compare with.

    further: metrics beyond the three that every comparison reports.
    """
    check_output(out, ".csv", inputs=(data, specs, *scores))
    metrics = (*METRICS, *(metric(name).name for name in further))
    named = read_specs(specs, least=1 if scores else 2)
    available, problem = budget(setting.memory), setting.problem(data)
    brought = _brought(scores, problem)
    if twice := set(named) & set(brought):
        raise InvalidInput(f"Both a specification and a score file are named `{twice.pop()}`; give one another name.")
    arrays = [*_computed(problem, list(named.values()), available), *brought.values()]
    found = comparison.compare([arrays], [*named, *brought], metrics=tuple(dict.fromkeys(metrics)))
    if left_out := sum(found.left_out):
        print(f"{left_out} candidates are left out of the comparison because they did not converge everywhere.",
              file=sys.stderr)
    atomic_write(out, found.table()[COLUMNS].to_csv(index=False, lineterminator="\n"))


def _brought(scores: Sequence[Path], problem: Problem) -> dict[str, Scores]:
    if not scores:
        return {}
    from engine.cli.bringing import read_scores

    return read_scores(scores, problem)


def check_output(out: Path, suffix: str, inputs: Sequence[Path], also: Sequence[Path] = ()) -> None:
    """Refuse, before anything is computed, an output that could not be written or that would replace an input."""
    if out.suffix.lower() != suffix:
        raise InvalidInput(f"--out is `{out}`; give a file name that ends in `{suffix}`.")
    if not out.parent.is_dir():
        raise InvalidInput(f"The folder of --out `{out}` does not exist; create it or choose another place.")
    for path in (out, *also):
        if path.is_dir():
            raise InvalidInput(f"`{path}`, which would be written, is a folder; choose another --out.")
        if any(path.exists() and given.exists() and path.samefile(given) for given in inputs):
            raise InvalidInput(f"The output `{path}` would replace an input; choose another --out.")
    if not os.access(out.parent, os.W_OK):
        raise InvalidInput(f"The folder of --out `{out}` may not be written; choose another place.")


def _computed(problem: Problem, scorings: list[Scoring], available: int) -> list[Scores]:
    """The scores, with a bar where stderr is a terminal and a warning where a candidate did not converge."""
    with tqdm(total=1.0, disable=None, bar_format="{desc} {percentage:3.0f}%|{bar}| {elapsed}",
              desc=f"{len(problem.candidates):,} candidates × {len(problem.queries):,} queries") as bar:
        def progress(share: float) -> None:
            bar.n = min(share, 1.0)
            bar.refresh()

        found = compute(problem, scorings, Options(budget=available, progress=progress))
    for scores in found:
        _warn(scores)
    return found


def _warn(scores: Scores) -> None:
    flagged = int((~scores.converged).sum())
    if flagged:
        print(f"{flagged} of {len(scores.converged)} candidates did not converge under {scores.scoring.title} (largest "
              f"residual {scores.residual.max():.1e}) and are flagged; leave them out, or try another --l2.",
              file=sys.stderr)


def _npz(scores: Scores) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, scores=np.asarray(scores.values, dtype=np.float64), candidates=scores.candidates,
             converged=scores.converged, residual=scores.residual)
    return buffer.getvalue()


def _command(name: str, data: Path, option: str, spec: Path, out: Path, setting: Setting) -> str:
    """The command line that recomputes; of an absolute path it keeps the file's name only."""
    paths = [str(path.name if path.is_absolute() else path) for path in (data, spec, out)]
    arguments = [name, "--data", paths[0], option, paths[1], "--out", paths[2], *setting.arguments]
    return f"{PROGRAM} {shlex.join(arguments)}"
