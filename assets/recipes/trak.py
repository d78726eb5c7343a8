"""TRAK: how each query's margin would change were the model trained without an example, by projected gradients."""

import tempfile

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from trak import TRAKer

# problem

with tempfile.TemporaryDirectory() as folder:
    traker = TRAKer(module, "image_classification", train_set_size=len(train), save_dir=folder, device="cpu",
                    proj_dim=512, use_half_precision=False, grad_wrt=parameters,
                    lambda_reg=3.0)  # 0 is enough with many more examples than proj_dim
    traker.load_checkpoint(module.state_dict(), model_id=0)
    for batch in DataLoader(train, 64):
        traker.featurize(batch, num_samples=len(batch[0]))
    traker.finalize_features()
    traker.start_scoring_checkpoint("queries", module.state_dict(), model_id=0, num_targets=len(queries))
    for batch in DataLoader(queries, 64):
        traker.score(batch, num_samples=len(batch[0]))
    scores = np.array(traker.finalize_scores("queries")).T  # (queries, training examples)
np.savez("trak.npz", scores=scores[:, candidates], candidates=candidates)
