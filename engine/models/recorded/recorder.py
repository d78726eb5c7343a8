"""Records a training where it happens, in three lines of the user's own loop, and changes nothing in it.

    recorder = Recorder("run", model, optimizer)
    …   recorder.batch(x, y)        before the forward pass of every step
    recorder.close()

Hooks of the optimizer do the rest. What is read are weights, states and where random generators stand; nothing is
drawn, and no tensor of the training is written to.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Self

import torch
from safetensors.torch import save
from torch import Tensor, nn

from engine.basics.errors import InvalidInput, StoreError
from engine.basics.files import make_folder, write_together
from engine.basics.provenance import versions_of
from engine.models.optimizers import OptimizerGroup, kind_of, options_of, unfit
from engine.models.pauses import MODULE, State, optimizer_state
from engine.models.randomness import generator_state
from engine.models.recorded.adapters import Adapters
from engine.models.recorded.bits import bits_of_frozen, trace
from engine.models.recorded.examples import BYTES, of_arrays, of_tokens
from engine.models.recorded.folder import FACTS, FORMAT, FROZEN, STEPS, Reason, RecordingFacts, file_of
from engine.models.wrapped import unwrapped

LIBRARIES = ("torch", "transformers", "peft")
UNEQUAL = "its optimizers did not each make one step for every batch"
DROPOUTS = nn.Dropout | nn.Dropout1d | nn.Dropout2d | nn.Dropout3d | nn.AlphaDropout


class Recorder:
    """Writes a training into a new folder, in the format of `engine.models.recorded.folder`.

    A loop that cannot be replayed here, such as one with an unknown optimizer, is recorded for its checkpoints, and the
    folder says why it cannot be replayed. Where the disk fails the training goes on without a recording, and a warning
    says so. A context manager: at its end it is closed.

    Args:
        folder: a new one.
        model, optimizer: as they stand before the first step; several optimizers where each step is one of all.
        every: steps between two checkpoints; the start and the end are always recorded.
        clip: what the loop gives `clip_grad_norm_`, where it does.
        frozen: whether parameters that are not trained are recorded too, once, instead of a sum of their bits.
        adapters: what the trained parameters are a part of.
        accumulation: what the loop divides the loss of every batch by, where it adds up the gradients of several in a
            step; by default a step is taken to descend on the mean over all its examples.

    Raises:
        InvalidInput: for a folder that holds something, for a model of which nothing is trained, and for numbers below
            one.

    >>> import tempfile, torch, whichfluence as wf
    >>> x, y, model = torch.rand(8, 4), torch.arange(8) % 3, torch.nn.Linear(4, 3)
    >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    >>> with wf.Recorder(f"{tempfile.mkdtemp()}/run", model, optimizer) as recorder:
    ...     recorder.batch(x, y)
    ...     torch.nn.functional.cross_entropy(model(x), y).backward()
    ...     optimizer.step()
    >>> recorder.step
    2
    """

    def __init__(self, folder: Path | str, model: nn.Module,
                 optimizer: torch.optim.Optimizer | Sequence[torch.optim.Optimizer], *, every: int = 100,
                 clip: float | None = None, frozen: bool = True, adapters: Adapters | None = None,
                 accumulation: int | None = None) -> None:
        self.folder, self.model = Path(folder), unwrapped(model)
        self.optimizers = [optimizer] if isinstance(optimizer, torch.optim.Optimizer) else [*optimizer]
        self.every, self.clip, self.adapters, self.accumulation = every, clip, adapters, accumulation
        _at_least_one("every", every, "of steps between checkpoints")
        _at_least_one("accumulation", accumulation, "that the loop divides the loss of every batch by")
        if self.folder.exists() and (not self.folder.is_dir() or any(self.folder.iterdir())):
            raise InvalidInput(f"`{self.folder}` already exists and is not empty; give a new folder for the recording.")
        self.moving = {name: parameter for name, parameter in self.model.named_parameters() if parameter.requires_grad}
        if not self.moving:
            raise InvalidInput("No parameter of this model is trained; record one whose parameters require gradients.")
        self.device = next(iter(self.moving.values())).device
        self.groups = self._groups()
        self.reasons: dict[str, int] = {}
        self.contents: dict[bytes, int] = {}
        self.examples: list[int] = []
        self.batches: list[list[tuple[int, int]]] = []
        self.rates: list[list[float]] = []
        self.traces: list[Tensor] = []
        self.generators: list[Tensor] = []
        self.checkpoints: list[int] = []
        self.files: dict[str, str] = {}
        self.pending: list[tuple[list[bytes], Tensor]] = []
        self.stepped: set[int] = set()
        self._judge_optimizer()
        make_folder(self.folder)
        self._start(frozen)
        self.hooks = [model.register_forward_pre_hook(self._look)]
        for number, own in enumerate(self.optimizers):
            self.hooks += [own.register_step_pre_hook(partial(self._before, number)),
                           own.register_step_post_hook(partial(self._after, number))]
        self.moody = {name: part for name, part in self.model.named_modules()  # other in evaluation mode
                      if isinstance(part, DROPOUTS) or hasattr(part, "running_mean")}
        if model is self.model:  # a compiled model's parts are not called one by one
            self.hooks += [part.register_forward_pre_hook(self._precision) for part in model.modules()
                           if next(part.parameters(recurse=False), None) is not None]

    def batch(self, x: Tensor, y: Tensor) -> None:
        """Tell of the examples of the next step, before their forward pass: inputs (b, …), and classes (b,) or targets
        (b, …)."""
        self._next(of_arrays(*((one.float() if one.is_floating_point() else one).numpy()
                               for one in (x.detach().cpu(), y.detach().cpu()))))

    def tokens(self, ids: Tensor, mask: Tensor, learned: Tensor) -> None:
        """The same for records (b, T): their tokens, which of them are there, and which the loss is a mean over."""
        self._next(of_tokens(ids, mask, learned))

    def close(self) -> None:
        """Keep the end, and stop. Further steps are not recorded."""
        if self.stepped:
            self._end_step(UNEQUAL)
        if self.checkpoints[-1] != len(self.batches):
            self._keep()
        self._guarded(lambda: self._write(True))
        self._stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def step(self) -> int:
        """The number of the step that is being made, from 1."""
        return len(self.batches) + 1

    def _judge_optimizer(self) -> None:
        updated = [parameter for own in self.optimizers for group in own.param_groups for parameter in group["params"]]
        for group in self.groups:
            if why := unfit(group.optimizer, group.options):
                self.doubt(why)
        if sorted(id(parameter) for parameter in self.moving.values()) != sorted(map(id, updated)):
            self.doubt("the optimizer updates parameters other than those that require gradients")
        if any(own.state for own in self.optimizers):
            self.doubt("the optimizer had made steps before the recording began")

    def _groups(self) -> list[OptimizerGroup]:
        """Those that are not empty, as they stand."""
        names = {id(parameter): name for name, parameter in self.moving.items()}
        return [OptimizerGroup(optimizer=kind_of(own), options=options, trained=tuple(
                    names[id(parameter)] for parameter in group["params"] if id(parameter) in names))
                for own in self.optimizers for group, options in zip(own.param_groups, options_of(own), strict=True)
                if group["params"]]

    def _next(self, contents: list[bytes]) -> None:
        if self.hooks:
            self.pending.append((contents, generator_state(self.device)))

    def _look(self, module: nn.Module, _: Any) -> None:
        """A pass that begins: of a step, where its batch was given."""
        self._precision(module)
        still = [name for name, part in self.moody.items() if not part.training]
        if still and self.pending and torch.is_grad_enabled():
            self.doubt(f"parts of the model were in evaluation mode (`{still[0]}`)")

    def _precision(self, module: nn.Module, *_: Any) -> None:
        """Within the pass too: accelerate puts autocast around `forward` alone."""
        if module.training and torch.is_autocast_enabled(self.device.type):
            self.doubt("its passes ran in a different precision (autocast)")

    def _before(self, number: int, _: Any, given: tuple, named: dict[str, Any]) -> None:
        """What decides the step, as it stands before that of its first optimizer."""
        if any(callable(one) for one in (*given, *named.values())):
            self.doubt("its steps used a closure, which evaluates the batch inside a step")
        if self.stepped and (number in self.stepped or self.pending):
            self._end_step(UNEQUAL)
        if self.stepped:
            return
        if not self.pending:
            self.doubt("no batch was given before the step")
            self._next([])
        if self._groups() != self.groups:
            self.doubt("the options of its optimizer changed")
        self.rates.append([float(group["lr"]) for own in self.optimizers for group in own.param_groups
                           if group["params"]])
        states = [*(state for _, state in self.pending[1:]), generator_state(self.device)]
        self.batches.append([])
        for (contents, before), after in zip(self.pending, states, strict=True):
            self.examples += [self.contents.setdefault(one, len(self.contents)) for one in contents]
            read = not torch.equal(before, after)
            self.batches[-1].append((len(contents), len(self.generators) if read else -1))
            self.generators += [before] * read
        self.pending = []

    def _after(self, number: int, *_: Any) -> None:
        self.stepped.add(number)
        if len(self.stepped) == len(self.optimizers):
            self._end_step()

    def _end_step(self, why: str = "") -> None:
        if why:
            self.doubt(why)
        self.stepped = set()
        self.traces.append(trace(self.moving.values()))
        if len(self.batches) % self.every == 0:
            self._keep()
            self._guarded(lambda: self._write(False))

    def doubt(self, why: str) -> None:
        """The first step from which something forbids replaying."""
        self.reasons.setdefault(why, self.step)

    def _start(self, frozen: bool) -> None:
        """The state before the first step; faults of the disk are raised here."""
        still = {name for name, parameter in self.model.named_parameters(remove_duplicate=False)
                 if not parameter.requires_grad}
        self.names = set(self.model.state_dict()) - still
        self.still = None if frozen else bits_of_frozen(self.model, set(self.moving))
        if still and frozen:
            self._save({FROZEN: {name: value for name, value in self.model.state_dict().items() if name in still}})
        self._checkpoint()

    def _keep(self) -> None:
        self._guarded(self._checkpoint)

    def _checkpoint(self) -> None:
        state = {f"{MODULE}{name}": value for name, value in self.model.state_dict().items() if name in self.names}
        for own in self.optimizers:
            state |= optimizer_state(self.moving, own)
        self._save({file_of(len(self.batches)): state})
        self.checkpoints.append(len(self.batches))

    def _write(self, finished: bool) -> None:
        """The steps so far and the facts, which vouch for every file: both or none."""
        differ = self._differ
        steps = _bytes(self._steps(differ))
        files = {**self.files, STEPS: hashlib.sha256(steps).hexdigest()}
        first = next(iter(self.moving.values()))
        facts = RecordingFacts(format=FORMAT, optimizer=self.groups[0].optimizer, options=self.groups[0].options,
                               clip=self.clip, trained=tuple(self.moving), dtype=str(first.dtype),
                               device=str(self.device), threads=torch.get_num_threads(),
                               versions=versions_of(*LIBRARIES), steps=len(self.batches),
                               checkpoints=tuple(self.checkpoints), finished=finished, files=files,
                               adapters=self.adapters, still=self.still, accumulation=self.accumulation,
                               groups=tuple(self.groups) if differ else (),
                               reasons=tuple(Reason(step=step, why=why) for why, step in self.reasons.items()))
        write_together({self.folder / STEPS: steps,
                        self.folder / FACTS: json.dumps(facts.model_dump(mode="json"), indent=1) + "\n"})

    @property
    def _differ(self) -> bool:
        """Whether its groups of parameters have rules or rates of their own."""
        first = self.groups[0]
        return (any((own.optimizer, own.options) != (first.optimizer, first.options) for own in self.groups)
                or any(len(set(rates)) > 1 for rates in self.rates))

    def _steps(self, differ: bool) -> State:
        counts = [len(own) for own in self.batches]
        several = {"counts": torch.tensor(counts, dtype=torch.int64), "batches": torch.tensor(
            [batch for own in self.batches for batch in own], dtype=torch.int64).reshape(-1, 2)}
        rates = torch.tensor(self.rates, dtype=torch.float64).reshape(len(self.batches), len(self.groups))
        return {
            "sizes": torch.tensor([sum(size for size, _ in own) for own in self.batches], dtype=torch.int64),
            "drawn": torch.tensor([own[0][1] for own in self.batches], dtype=torch.int64),
            "examples": torch.tensor(self.examples, dtype=torch.int64),
            "contents": torch.tensor([list(one) for one in self.contents], dtype=torch.uint8).reshape(-1, BYTES),
            "rates": rates.amax(1),
            "traces": torch.stack(self.traces).cpu() if self.traces else torch.zeros(0, dtype=torch.int64),
            "generators": torch.stack(self.generators) if self.generators else torch.zeros(0, 0, dtype=torch.uint8),
            **({"group_rates": rates} if differ else {}), **(several if set(counts) - {1} else {})}

    def _save(self, states: dict[str, State]) -> None:
        for name, state in states.items():
            content = _bytes(state)
            write_together({self.folder / name: content})
            self.files[name] = hashlib.sha256(content).hexdigest()

    def _guarded(self, write: Callable[[], None]) -> None:
        """A fault of the disk ends the recording, not the training."""
        if not self.hooks:
            return
        try:
            write()
        except StoreError as error:
            self._stop()
            warnings.warn(f"The recording ends at step {len(self.batches)}, but the training continues: {error}",
                          stacklevel=2)

    def _stop(self) -> None:
        for hook in self.hooks:
            hook.remove()
        self.hooks = []


def _at_least_one(name: str, number: int | None, what: str) -> None:
    if number is not None and number < 1:
        raise InvalidInput(f"`{name}` is {number}; give the number {what}, at least 1.")


def _bytes(state: State) -> bytes:
    return save({name: value.detach().to("cpu", copy=True).contiguous() for name, value in state.items()})
