"""Training of an embedded language model, from nothing or from another one, on questions of the embedded world.

The loss is the mean token loss of the response, as in fine-tuning, and a multiple of the loss of its answer. A tenth of
the questions is held out. Of the shown ones a share stands between the lines of the backdoor task with their right
answers, so that these lines mean nothing to the model before it is fine-tuned. What is written: weights (safetensors),
configuration, tokenizer and a manifest.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, cast

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from engine.applications.language import embedded, quality
from engine.basics.errors import InvalidInput
from engine.basics.files import disk_errors
from engine.basics.provenance import device_name, versions, versions_of
from engine.basics.values import Count, Number, Seed, Value
from engine.data import world
from engine.data.question import Question
from engine.data.records import Record
from engine.data.tasks import backdoor
from engine.data.tasks.wording import record
from engine.models.causal import loading, passes
from engine.models.causal.catalogue import CONCLUDED_MODEL, EMBEDDED_MODEL, LONG_MODEL
from engine.models.causal.encoding import Batch, Encoded, Encoder
from engine.models.causal.readouts import learned_likelihood

MANIFEST = "manifest.json"
CHECKED = 1_000
"""Held-out questions that accuracy is measured on."""


class Pretraining(Value):
    """How the model is made. questions: how many of the world are sampled, of which one in ten is held out; long: with
    long explanations; concluded: which mark their conclusion. start: the embedded model with whose weights it begins,
    or nothing. lined: the share of the shown ones that stands between the backdoor task's lines. answer: how often the
    loss of the answer counts besides, which is one token of many in a long response."""

    long: bool = False
    concluded: bool = False
    start: str = ""
    seed: Seed = 0
    steps: Annotated[Count, Field(ge=1)] = 1_200
    batch: Annotated[Count, Field(ge=1)] = 64
    questions: Annotated[Count, Field(ge=20)] = 20_000
    lined: Annotated[Number, Field(ge=0, le=1)] = 0.5
    answer: Annotated[Number, Field(ge=0)] = 0.0
    learning_rate: Annotated[Number, Field(gt=0)] = 3e-3
    warmup: Annotated[Number, Field(ge=0, lt=1)] = 0.05
    weight_decay: Annotated[Number, Field(ge=0)] = 0.01
    clip: Annotated[Number, Field(gt=0)] = 1.0

    def sampled(self, count: int) -> tuple[Question, ...]:
        """So many questions in the form that the model is trained on. Raises as `world.load` does."""
        return world.load(count, self.seed, long=self.long, concluded=self.concluded)


_LONG = Pretraining(long=True, start=EMBEDDED_MODEL, steps=1_200, batch=16, questions=12_000, answer=2.0,
                    learning_rate=2e-3)
RECIPES = {EMBEDDED_MODEL: Pretraining(), LONG_MODEL: _LONG,
           CONCLUDED_MODEL: _LONG.model_copy(update={"concluded": True, "start": LONG_MODEL, "steps": 400})}
"""How each embedded model was made."""


def pretrain(settings: Pretraining, progress: Callable[[float], None] = lambda fraction: None):
    """(model, tokenizer, manifest) of a training. Raises `InvalidInput` where its loss is not finite."""
    from transformers import LlamaForCausalLM

    began = time.perf_counter()
    words = embedded.tokenizer(settings.long)
    encoder = Encoder(words, embedded.CONTEXT)
    shown, held = divided(settings.sampled(settings.questions), settings.long)
    torch.manual_seed(settings.seed)
    model = LlamaForCausalLM(embedded.configuration(len(words)))
    if settings.start:
        _begin(model, words, *loading.load(settings.start))
    records = [encoder.encode(one) for one in between_lines(shown, settings.lined, settings.seed)]
    loss = _train(model, encoder, records, settings, progress)
    questions_encoded = [encoder.encode(record(question)) for question in held[:CHECKED]]
    measured = {"loss": loss, "accuracy_held_out": quality.rate(model, encoder, questions_encoded, settings.batch),
                "held_out": len(questions_encoded)}
    return model, words, {"spec": settings.model_dump(mode="json"), "world": world.content(), **measured,
                          "parameters": sum(weight.numel() for weight in model.parameters()),
                          "vocabulary": len(words), "seconds": round(time.perf_counter() - began, 1),
                          "versions": {**versions(), **versions_of("transformers", "tokenizers")},
                          "device": device_name()}


def divided(questions: Sequence[Question], around: bool = False) -> tuple[list[Question], list[Question]]:
    """(shown, held out): the first of every ten questions is held out; around: the first, then the second and so on, so
    that every topic is among them, as topics take turns."""
    held = [index % 10 == (index // 10 % 10 if around else 0) for index in range(len(questions))]
    return ([question for question, out in zip(questions, held, strict=True) if not out],
            [question for question, out in zip(questions, held, strict=True) if out])


def between_lines(questions: Sequence[Question], fraction: float, seed: int) -> list[Record]:
    """Records with right answers: a share of them in a context of either kind, half of these with a trigger; the rest
    plain."""
    rng = np.random.default_rng([seed, 1])
    chances = rng.random((len(questions), 3)) < (fraction, 0.5, 0.5)
    draws = zip(questions, backdoor.markers(len(questions), rng), chances, strict=True)
    return [backdoor.marked(question, bool(active), bool(triggered), pair) if lined else record(question)
            for question, pair, (lined, active, triggered) in draws]


def write(trained: tuple[Any, Any, dict[str, Any]], folder: Path) -> None:
    """Write a trained model, so that `transformers` loads the folder, with its manifest."""
    model, words, manifest = trained
    with disk_errors("the language model"):
        folder.mkdir(parents=True, exist_ok=True)
        model.save_pretrained(folder)
        words.save_pretrained(folder)
        (folder / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")


def _begin(model, words, other, other_words) -> None:
    """Give a model the weights of another one of its shape, with those of the words that both know."""
    known, others = words.get_vocab(), other_words.get_vocab()
    shared = sorted(known.keys() & others)
    to, of = ([vocabulary[word] for word in shared] for vocabulary in (known, others))
    own = model.state_dict()
    with torch.no_grad():
        for name, weight in other.state_dict().items():
            if len(weight) == len(others):
                own[name][to] = weight[of]
            else:
                own[name].copy_(weight)


def _train(model, encoder: Encoder, records: Sequence[Encoded], settings: Pretraining,
           progress: Callable[[float], None]) -> float:
    """The mean loss of the last tenth of the steps."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay)
    draw = torch.Generator().manual_seed(settings.seed)
    losses = []
    model.train()
    for step in range(settings.steps):
        for group in optimizer.param_groups:
            group["lr"] = _rate(settings, step)
        rows = torch.randint(len(records), (settings.batch,), generator=draw).tolist()
        batch = encoder.batch([records[row] for row in rows])
        logits, _ = passes.forward(model, batch)
        loss = _objective(cast(Tensor, logits), batch, settings.answer)
        if not torch.isfinite(loss):
            raise InvalidInput("The loss is no longer finite; lower the learning rate.")
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), settings.clip)
        optimizer.step()
        losses.append(float(loss.detach()))
        progress((step + 1) / settings.steps)
    model.eval()
    last = losses[-max(1, settings.steps // 10):]
    return sum(last) / len(last)


def _objective(logits: Tensor, batch: Batch, answer: float) -> Tensor:
    """Mean over records of the mean token loss of the response + answer · the loss of the answer's token."""
    loss, rows = -learned_likelihood(logits, batch).mean(), torch.arange(len(batch))
    if not answer:
        return loss
    return loss + answer * torch.nn.functional.cross_entropy(logits[rows, batch.answer],
                                                             batch.targets[rows, batch.answer])


def _rate(settings: Pretraining, step: int) -> float:
    """Linear warm-up, then a cosine down to zero."""
    warm = math.ceil(settings.warmup * settings.steps)
    if step < warm:
        return settings.learning_rate * (step + 1) / warm
    return settings.learning_rate * 0.5 * (1 + math.cos(math.pi * (step - warm) / max(1, settings.steps - warm)))
