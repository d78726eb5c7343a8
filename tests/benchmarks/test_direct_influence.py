"""Inverse-Hessian scores against pyDVL's DirectInfluence, which runs in the environment of peers (.venv-peers)."""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch

from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring
from tests.benchmarks.bench_problems import PEER, SMALL, fashion, seconds, untouched

N, QUERIES, CANDIDATES, POOL = (300, 20, 10, 4) if SMALL else (2_000, 100, 100, 2)
SCORING = Scoring.of("query_loss", {"kind": "infinitesimal"}, {"kind": "local_response"})


@pytest.mark.skipif(not PEER.exists(), reason=f"there is no {PEER}; `make bench` makes it")
def test_ten_times_faster_than_pydvl(tmp_path):
    """pyDVL scores ∇ℓ(q)ᵀ H⁻¹ ∇ℓ(k); with B = −ℓ that is dB/dα: −∇Bᵀ H⁻¹ ∇ℓ(k)."""
    problem, name = fashion(N, QUERIES, CANDIDATES, pool=POOL)
    np.savez(tmp_path / "in.npz", x=problem.x, y=problem.y, weights=problem.weights, queries=problem.queries,
             query_labels=problem.query_labels, candidates=problem.candidates, l2=problem.l2)
    script = Path(__file__).with_name("pydvl_direct_influence.py")
    subprocess.run(
        [PEER, "-W", "ignore", script, tmp_path / "in.npz", tmp_path / "out.npz", str(torch.get_num_threads())],
        check=True, env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)})
    peer = np.load(tmp_path / "out.npz")
    theirs = float(peer["fit_seconds"] + peer["score_seconds"])

    compute(untouched(problem), SCORING)
    ours, found = seconds(lambda: compute(untouched(problem), SCORING)[0], repeat=3)
    error = np.abs(found.values - peer["influences"]).max() / np.abs(found.values).max()
    print(f"\ninverse-Hessian scores, {name}, n = {N}, {problem.dimension} features, {CANDIDATES} candidates × "
          f"{QUERIES} queries: pyDVL 0.10.0 {theirs:.2f} s (Hessian {peer['fit_seconds']:.2f} s, scores "
          f"{peer['score_seconds']:.2f} s), ours {ours:.3f} s (best of three, both included), {theirs / ours:.0f} "
          f"times faster; largest difference {error:.0e} of the largest score")
    assert error < 1e-6
    assert SMALL or theirs / ours >= 10
