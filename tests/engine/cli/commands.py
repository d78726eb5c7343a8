"""Specifications and calls that several tests of the command line share."""

import numpy as np

from engine.cli import main
from engine.scoring.compute import compute as scores_of
from engine.scoring.scoring import Scoring

N, D, C, M, K = 40, 4, 3, 5, 30
ETA, L2 = 0.3, 1e-2

STEP = {"behavior": "query_loss", "intervention": {"kind": "add_occurrence"},
        "process": {"kind": "one_step", "eta": ETA}}
REMOVE = {"behavior": "query_logit", "intervention": {"kind": "remove"}, "process": {"kind": "reoptimize"}}
FIRST = {**STEP, "estimator": "first_order"}
SPECS = {"step": STEP, "loo": REMOVE, "first, order": FIRST}


def influence(*options, spec="spec.json", out="scores.npz"):
    return main(["influence", "--data", "problem.npz", "--spec", spec, "--out", out, "--l2", str(L2), *options])


def compare(*options):
    return main(["compare", "--data", "problem.npz", "--specs", "specs.json", "--out", "agreement.csv",
                 "--l2", str(L2), *options])


def one_line(capsys) -> str:
    """What was refused: nothing on stdout, one sentence on stderr."""
    shown = capsys.readouterr()
    assert shown.out == "" and shown.err.count("\n") == 1 and shown.err.endswith((".\n", "?\n")), shown
    return shown.err


def run(command, *options):
    return main([command, "--data", "problem.npz", "--l2", "0.01", *options])


def brought(problem, turned=True, name="theirs.npy"):
    scores = scores_of(problem, Scoring.parse(REMOVE))[0].values  # positive: leaving out helps
    noisy = scores + 0.2 * scores.std() * np.random.default_rng(1).normal(size=scores.shape)
    np.save(name, noisy.T if turned else noisy)
    return noisy


def bring(*options, scores="theirs.npy", out="ours.npz"):
    return main(["bring", "--scores", scores, "--data", "problem.npz", "--spec", "loo.json", "--out", out, "--l2",
                 "0.01", *options])
