r"""Models trained on drawn subsets, kept once for all who ask for them.

A draw says which subsets and by which protocol models are trained on them; problem, behaviors with words and draw have
one digest. Models are kept by tens under it in the store, so that a draw that was interrupted goes on, and a larger one
of the same kind begins with the smaller one's. Linear datamodeling scores, datamodels, Banzhaf and Shapley values are
read off the same models.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import torch
from pydantic import AfterValidator, Field

from engine.analysis.datamodels import Retrained, retrain_members, subsets, with_the_rest
from engine.analysis.options import AMONG, PROTOCOL
from engine.analysis.protocols import PROTOCOLS, ProtocolName
from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.basics.provenance import device_name, versions
from engine.basics.values import Count, Number, Seed, Value, figures
from engine.jobs import Output
from engine.problems import Problem
from engine.question.behavior import Behavior
from engine.question.behaviors import BEHAVIORS
from engine.question.worded_behaviors import placed
from engine.requests import OfCandidates, Option, Request, Vouched
from engine.store.results import Result, Store, digest_of

SHELF, KIND = "subsets", "subset-bank"
TOGETHER = 10
"""Models that are kept in one folder."""
NUMERICS = 1
MOST = 100_000
Among = Literal["candidates", "all"]


class Draw(Value):
    """Which subsets, and how models are trained on them; the first J of a larger draw are the draw of J.

    kind: `share`, subsets of round(share·N) of the N examples drawn from (linear datamodeling scores); `halves`, every
    one is in with probability ½ (Banzhaf values); `shapley`, all candidates and none of them, then pairs of a subset
    and its complement, whose size s is drawn with probability ∝ 1/(s(N − s)) (Shapley values, Lundberg and Lee 2017).
    share is read by the first alone.

    among: `candidates`, which leaves every other training example in every subset, N = k; `all`, of all training
    examples as in Park et al. (2023), N = n. protocol: see `engine.analysis.protocols`. later: how many seeds after the
    problem's own. A draw of an earlier version, which says none of the three, had their defaults.
    """

    kind: Annotated[Literal["share", "halves", "shapley"], Field(description=(
        "share (subsets of one size), halves (each candidate with probability ½, for Banzhaf values) or shapley."))
        ] = "share"
    count: Annotated[Count, Option("subsets"), Field(ge=3, le=MOST, description=(
        "Number of models to train, each on a random subset."))] = 100
    share: Annotated[Number, Field(gt=0, lt=1, description="The sampled fraction, for subsets of one size.")] = 0.5
    seed: Annotated[Seed, Field(description="Seed of the subsets.")] = 0
    among: Annotated[Among, Field(description=AMONG)] = "candidates"
    protocol: Annotated[ProtocolName, Field(description=PROTOCOL)] = "weights"
    later: Annotated[Count, Field(ge=0, le=1_000, description=(
        "Number of training seeds after the problem's own; for the protocol `seeds`, the index of the set of seeds."))
        ] = 0

    def members(self, problem: Problem) -> np.ndarray:
        """(count, n) bool: the training examples of every subset. Raises `InvalidInput` for sizes that say nothing."""
        if self.among == "all":
            if self.kind == "shapley":
                raise InvalidInput("Shapley values are defined over the candidates; sample the subsets from them.")
            return self.membership(problem.n)
        return with_the_rest(problem, self.membership(len(problem.candidates)))

    def membership(self, size: int) -> np.ndarray:
        """(count, size) bool, of the examples drawn from. Raises `InvalidInput` for sizes that say nothing."""
        if self.kind == "share":
            return subsets(size, self.count, self.share, self.seed)
        if size < 2:
            raise InvalidInput("With a single candidate, subsets are uninformative; use at least 2.")
        rng = np.random.default_rng([self.seed, size])
        return rng.random((self.count, size)) < 0.5 if self.kind == "halves" else _paired(rng, self.count, size)

    def fraction(self, n: int, k: int) -> float:
        """The share of all n training examples that a model is trained on, k of them candidates; in the mean, where
        sizes vary."""
        size = n if self.among == "all" else k
        inside = round(self.share * size) if self.kind == "share" else size / 2
        return (n - size + inside) / n

    def description(self, n: int, k: int) -> str:
        """What share of the data a model is trained on, as in `50% of the candidates, 90% of the training data`."""
        whole = f"{_percent(self.fraction(n, k))} of the training data"
        if self.among == "all":
            return whole
        return f"{_percent(self.share if self.kind == 'share' else 0.5)} of the candidates, {whole}"

    @property
    def identity(self) -> dict[str, Any]:
        """What its models are decided by, however many; in words of an earlier version where that knew them."""
        more = {name: value for name, value in self.model_dump(include={"among", "protocol", "later"}).items()
                   if value != type(self).model_fields[name].default}
        return {"kind": self.kind, "seed": self.seed, **({"share": self.share} if self.kind == "share" else {}), **more}


def _percent(fraction: float) -> str:
    """90%, 99.5%."""
    return f"{100 * fraction:.3g}%"


def _paired(rng: np.random.Generator, count: int, k: int) -> np.ndarray:
    sizes = np.arange(1, k)
    weights = 1.0 / (sizes * (k - sizes))
    memberships = [np.ones(k, bool), np.zeros(k, bool)]
    while len(memberships) < count:
        own = np.isin(np.arange(k), rng.choice(k, rng.choice(sizes, p=weights / weights.sum()), replace=False))
        memberships += [own, ~own]
    return np.stack(memberships[:count])


def bank(problem: Problem, draw: Draw, store: Store, options: Options | None = None,
         behaviors: Sequence[Behavior] = ()) -> Retrained:
    """The models of a draw: those that are kept, and the others trained and kept.

    Raises as `engine.analysis.datamodels.retrain_members` does, and `StoreError` where the store cannot be written.
    """
    options = options or Options()
    starts = range(0, draw.count, TOGETHER)
    chunks = [chunk_of(problem, draw, index, store, options.stage(index, len(starts)), behaviors)
              for index in range(len(starts))]
    return _joined(chunks)


def chunk_of(problem: Problem, draw: Draw, index: int, store: Store, options: Options,
         behaviors: Sequence[Behavior] = ()) -> Retrained:
    """Models 10·place, 10·place + 1, … of a draw: kept ones, or trained and kept."""
    first = index * TOGETHER
    rows = draw.members(problem)[first:first + TOGETHER]
    identity = {"kind": KIND, "data": problem.fingerprint, "payload": {
        "draw": draw.identity, "first": first, "models": len(rows), "numerics": NUMERICS,
        "behaviors": [one.name for one in behaviors]}}
    digest, shelf = digest_of(identity), Store(store.root, SHELF)
    _, read = problem.asking(list(behaviors))
    if shelf.has(digest):
        options.progress(1.0)
        return _of(shelf.read(digest), problem, read)
    models = retrain_members(problem, rows, options, behaviors, draw.protocol, draw.later, first)
    shelf.write(digest, identity, arrays={"kept": models.members, "logits": models.logits.double().cpu().numpy()})
    return models


@dataclass(frozen=True, eq=False)
class Bank:
    """Models on subsets, and which. apart: by how much logits differ of the models that were trained once more."""

    draw: Draw
    models: Retrained
    apart: float | None = None


class SubsetBankRequest(Request[Bank]):
    """Train models on random subsets, or reuse stored ones, and write them as a bank."""

    name: ClassVar = "subset-bank"
    command: ClassVar = "subsets"
    job: ClassVar = False
    doing: ClassVar = "models on subsets"
    outputs: ClassVar = {"out": "Output bank, with its manifest next to it."}
    suffixes: ClassVar = {"out": ".npz"}
    vouched: ClassVar = ("out",)

    draw: Annotated[Draw, Option(parts=("count", "share", "seed", "protocol", "among", "kind", "later"))] = Draw()
    retrain: Annotated[Count, Field(ge=0, description=(
        "Check: retrain this many of the models and print the largest difference of their logits."))] = 0

    def compute(self, problem: Problem, chunk: str, options: Options, store: Store) -> Bank:
        models, rows = bank(problem, self.draw, store, options), self._rows
        if not rows:
            return Bank(self.draw, models)
        again = retrained_rows(problem, self.draw, rows, replace(options, progress=lambda done: None))
        return Bank(self.draw, models, (again - models.logits[list(rows)]).abs().max().item())

    @property
    def _rows(self) -> range:
        """Which models are trained once more."""
        return range(0, self.draw.count, -(-self.draw.count // self.retrain)) if self.retrain else range(0)

    def before(self, problem: Problem) -> list[str]:
        return [f"Each model is trained on {self.draw.description(problem.n, len(problem.candidates))} (protocol "
                f"`{self.draw.protocol}`)."]

    def sentences(self, answer: Bank) -> list[str]:
        return [] if answer.apart is None else [
            f"{len(self._rows)} of {self.draw.count} models trained again: logits differ by at most "
            f"{figures(answer.apart, 2)}."]

    def written(self, answer: Bank, problem: Problem, output: str) -> Vouched:
        buffer, models, draw = io.BytesIO(), answer.models, self.draw
        np.savez(buffer, kept=models.members, logits=models.logits.double().cpu().numpy(), candidates=models.candidates)
        return Vouched(buffer.getvalue(), {
            "draw": draw.model_dump(mode="json"), "trained_on": draw.description(problem.n, len(problem.candidates)),
            "protocol": PROTOCOLS[draw.protocol].definition, "data": problem.fingerprint, "numerics": NUMERICS,
            "behaviors": [one.name for one in models.read], "trained_by": problem.trained_by,
            "device": device_name(str(problem.device)), "versions": versions()})


class SubsetModelsRequest(OfCandidates[Retrained]):
    """Train models on random subsets, for the linear datamodeling score.

    behaviors: those with a user's words that are read off the models beside the registered ones. protocol, among:
    those of a `Draw`; a payload that says neither had their defaults, and keeps its digest. Models that were trained
    for another request, or by the command line, are taken as they lie in the store.
    """

    name: ClassVar = "datamodel"
    numerics: ClassVar = 2
    doing: ClassVar = "training models on subsets"
    shared: ClassVar = True

    subsets: Count = 30
    share: Number = 0.5
    seed: Seed = 0
    behaviors: Annotated[tuple[str, ...], AfterValidator(lambda names: tuple(sorted(set(names))))] = ()
    protocol: ProtocolName = "weights"
    among: Among = "candidates"
    trainings: ClassVar[float] = float(TOGETHER)

    def title(self, problem: str) -> str:
        return f"{self.subsets} models on subsets of {problem}"

    @property
    def draw(self) -> Draw:
        """Which subsets, and how models are trained on them."""
        return Draw.parse({"count": self.subsets, **self.model_dump(include={"share", "seed", "protocol", "among"})})

    @property
    def chunks(self) -> list[str]:
        if self.among == "candidates":
            self.draw.membership(self.count)  # refused before anything is trained
        return [str(index) for index in range(-(-self.subsets // TOGETHER))]

    def compute(self, problem: Problem, chunk: str, options: Options, store: Store) -> Retrained:
        return chunk_of(problem, self.draw, int(chunk), store, options, [BEHAVIORS[name] for name in self.behaviors])

    def combine(self, parts: Mapping[str, Retrained]) -> Retrained:
        return _joined([parts[chunk] for chunk in self.chunks])

    def parameters(self) -> dict[str, Any]:
        defaults = {"behaviors", "protocol", "among"}
        return {name: value for name, value in self.model_dump(mode="json").items()
                if name not in defaults or getattr(self, name) != type(self).model_fields[name].default}

    @classmethod
    def stored(cls, answer: Retrained) -> Output:
        return Output(arrays={"kept": answer.members, "logits": answer.logits.double().cpu().numpy(),
                              "labels": answer.labels.cpu().numpy(), "candidates": answer.candidates},
                      manifest={"behaviors": [one.name for one in answer.read]})

    @classmethod
    def loaded(cls, result: Result) -> Retrained:
        arrays, names = result.arrays(), result.manifest.get("behaviors", [])
        first = arrays["logits"].shape[-1] - len(names)
        read = tuple(placed(BEHAVIORS[name], first + index) for index, name in enumerate(names))
        return Retrained(arrays["kept"], torch.as_tensor(arrays["logits"]), torch.as_tensor(arrays["labels"]),
                         arrays["candidates"], read)


def _joined(chunks: Sequence[Retrained]) -> Retrained:
    return replace(chunks[0], members=np.concatenate([one.members for one in chunks]),
                   logits=torch.cat([one.logits for one in chunks]))


def retrained_rows(problem: Problem, draw: Draw, indices: Sequence[int], options: Options) -> torch.Tensor:
    """The query logits (J, m, C) of models `indices` of a draw, trained once more."""
    members = draw.members(problem)
    return torch.cat([retrain_members(problem, members[one:one + 1], options, (), draw.protocol, draw.later, one).logits
                      for one in indices])


def _of(result: Result, problem: Problem, read: Sequence[Behavior]) -> Retrained:
    arrays = result.arrays()
    logits = torch.as_tensor(arrays["logits"], device=problem.device)
    return Retrained(arrays["kept"], logits, problem.query_labels, problem.candidates.cpu().numpy(), tuple(read))
