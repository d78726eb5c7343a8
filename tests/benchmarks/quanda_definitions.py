"""Run by the interpreter of .venv-peers: python quanda_definitions.py IN.npz OUT.npz

IN: scores and after (m, k), rows of examples with a shortcut, labels (k,), wanted (m,). OUT: shortcut, subclass, and
spearman (m,).
"""

import sys

import numpy as np
import torch
from quanda.metrics.downstream_eval import ShortcutDetectionMetric, SubclassDetectionMetric
from quanda.utils.functions import correlation_functions
from torch import nn
from torch.utils.data import TensorDataset


def main(source: str, target: str) -> None:
    given = {name: torch.as_tensor(value) for name, value in np.load(source).items()}
    scores, labels = given["scores"], given["labels"]
    data, model = TensorDataset(torch.randn(len(labels), 3), labels), nn.Linear(3, int(labels.max()) + 1)
    shortcut = ShortcutDetectionMetric(model, data, given["rows"], 0, filter_by_non_shortcut=False,
                                       filter_by_shortcut_pred=False)
    shortcut.update(scores)
    subclass = SubclassDetectionMetric(model, data, labels, s=1)
    subclass.update(scores, test_targets=given["wanted"])
    np.savez(target, shortcut=shortcut.compute()["score"], subclass=subclass.compute()["score"],
             spearman=correlation_functions["spearman"](scores, given["after"]).numpy())


if __name__ == "__main__":
    main(*sys.argv[1:])
