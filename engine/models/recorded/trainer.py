"""Records a training by `transformers.Trainer`: one callback.

    trainer = Trainer(…, callbacks=[RecordingCallback("run")])
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import nn
from transformers import TrainerCallback

from engine.models.recorded.adapters import Adapters, adapters_of
from engine.models.recorded.recorder import Recorder

NOT_LEARNED = -100
"""The label of a token that the loss does not read."""


class RecordingCallback(TrainerCallback):
    """Writes the training of a causal language model, all its parameters or adapters of PEFT, into a new folder.

    every: steps between two checkpoints. Base weights that are not trained are not kept, only a sum of their bits: the
    folder opens beside a problem that names the same model. Raises as `Recorder` does, when the training begins.
    """

    def __init__(self, folder: Path | str, every: int = 100) -> None:
        self.folder, self.every = folder, every
        self.recorder: Recorder | None = None
        self.lengths: set[int] = set()
        self.sizes: set[int] = set()

    def on_train_begin(self, args: Any, state: Any, control: Any, model: nn.Module | None = None, optimizer: Any = None,
                       **_: Any) -> None:
        assert model is not None and optimizer is not None, "the trainer gives both"
        inner = optimizer.optimizer if hasattr(optimizer, "optimizer") else optimizer  # accelerate wraps it
        adapters: Adapters | None = adapters_of(model)
        self.recorder = Recorder(self.folder, model, inner, every=self.every, clip=args.max_grad_norm or None,
                                 frozen=False, adapters=adapters)
        self.hook = model.register_forward_pre_hook(self._record_batch, with_kwargs=True)
        if args.label_smoothing_factor:
            self.recorder.doubt("its labels are smoothed")

    def _record_batch(self, module: nn.Module, _: Any, given: dict[str, Any]) -> None:
        """The batch of the pass that begins."""
        if not module.training or self.recorder is None:
            return
        ids, labels = given.get("input_ids"), given.get("labels")
        if ids is None or labels is None:
            self.recorder.doubt("its batches hold no `input_ids` or no `labels`")
            return
        mask = given.get("attention_mask")
        learned = labels != NOT_LEARNED
        if not self.recorder.pending:
            self.lengths, self.sizes = set(), set()
        self.lengths |= set(learned.sum(1).tolist())
        self.sizes.add(len(ids))
        if len(self.sizes) > 1 and given.get("num_items_in_batch") is None:
            self.recorder.doubt("its steps average over batches of different sizes, each of which counts the same")
        if len(self.lengths) > 1:
            self.recorder.doubt("its loss averages over all tokens of a batch; here it averages over records, which "
                                "differ in length")
        if mask is not None and not bool(mask.all()) and any(
                part.p for part in module.modules() if isinstance(part, nn.Dropout)):
            self.recorder.doubt("its dropout also sampled masks for padding, which is placed differently here")
        self.recorder.tokens(ids, torch.ones_like(ids) if mask is None else mask, learned)

    def on_train_end(self, *_: Any, **__: Any) -> None:
        if self.recorder is not None:
            self.hook.remove()
            self.recorder.close()
