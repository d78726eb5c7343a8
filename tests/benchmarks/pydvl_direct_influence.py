"""Run by the interpreter of .venv-peers: python pydvl_direct_influence.py IN.npz OUT.npz THREADS

IN: x, y, weights (d, C), queries, query_labels, candidates, l2. OUT: influences (m, k), fit and score seconds.
"""

import sys
import time

import numpy as np
import torch
from pydvl.influence import InfluenceMode
from pydvl.influence.torch import DirectInfluence
from torch.utils.data import DataLoader, TensorDataset


def main(source: str, target: str, threads: str) -> None:
    torch.set_num_threads(int(threads))
    data = np.load(source)
    x, y, queries, labels = (torch.as_tensor(data[name]) for name in ("x", "y", "queries", "query_labels"))
    weights, chosen = torch.as_tensor(data["weights"]), torch.as_tensor(data["candidates"])
    model = torch.nn.Linear(*weights.shape, bias=False, dtype=torch.float64)
    with torch.no_grad():
        model.weight.copy_(weights.T)
    started = time.perf_counter()
    influence = DirectInfluence(model, torch.nn.functional.cross_entropy, regularization=float(data["l2"]))
    influence = influence.fit(DataLoader(TensorDataset(x, y), batch_size=len(y)))
    fitted = time.perf_counter()
    found = influence.influences(queries, labels, x[chosen], y[chosen], mode=InfluenceMode.Up)
    np.savez(target, influences=found.detach().numpy(), fit_seconds=fitted - started,
             score_seconds=time.perf_counter() - fitted)


if __name__ == "__main__":
    main(*sys.argv[1:])
