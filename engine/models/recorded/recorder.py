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
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import torch
from safetensors.torch import save
from torch import Tensor, nn

from engine.basics.errors import InvalidInput, StoreError
from engine.basics.files import make_folder, write_together
from engine.basics.provenance import versions_of
from engine.models.optimizers import kind_of, options_of, unfit
from engine.models.pauses import MODULE, State, optimizer_state
from engine.models.randomness import generator_state
from engine.models.recorded.adapters import Adapters
from engine.models.recorded.bits import bits_of_frozen, trace
from engine.models.recorded.examples import BYTES, of_arrays, of_tokens
from engine.models.recorded.folder import FACTS, FORMAT, FROZEN, STEPS, Reason, RecordingFacts, file_of
from engine.models.wrapped import unwrapped

LIBRARIES = ("torch", "transformers", "peft")
DROPOUTS = nn.Dropout | nn.Dropout1d | nn.Dropout2d | nn.Dropout3d | nn.AlphaDropout


class Recorder:
    """Writes a training into a new folder, in the format of `engine.models.recorded.folder`.

    A loop that cannot be replayed here, such as one with an unknown optimizer or with gradients added up over
    several batches, is recorded for its checkpoints, and the folder says why it cannot be replayed. Where the disk
    fails the training goes on without a recording, and a warning says so. A context manager: at its end it is closed.

    Args:
        folder: a new one.
        model, optimizer: as they stand before the first step.
        every: steps between two checkpoints; the start and the end are always recorded.
        clip: what the loop gives `clip_grad_norm_`, where it does.
        frozen: whether parameters that are not trained are recorded too, once, instead of a sum of their bits.
        adapters: what the trained parameters are a part of.

    Raises:
        InvalidInput: for a folder that holds something, and for a model of which nothing is trained.

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

    def __init__(self, folder: Path | str, model: nn.Module, optimizer: torch.optim.Optimizer, *, every: int = 100,
                 clip: float | None = None, frozen: bool = True, adapters: Adapters | None = None) -> None:
        self.folder, self.model, self.optimizer = Path(folder), unwrapped(model), optimizer
        self.every, self.clip, self.adapters = every, clip, adapters
        if every < 1:
            raise InvalidInput(f"`every` is {every}; give the number of steps between checkpoints, at least 1.")
        if self.folder.exists() and (not self.folder.is_dir() or any(self.folder.iterdir())):
            raise InvalidInput(f"`{self.folder}` already exists and is not empty; give a new folder for the recording.")
        self.moving = {name: parameter for name, parameter in self.model.named_parameters() if parameter.requires_grad}
        if not self.moving:
            raise InvalidInput("No parameter of this model is trained; record one whose parameters require gradients.")
        self.device = next(iter(self.moving.values())).device
        self.kind, self.options = kind_of(optimizer), options_of(optimizer)
        self.reasons: dict[str, int] = {}
        self.contents: dict[bytes, int] = {}
        self.sizes, self.examples, self.rates = [], [], []  # type: ignore[var-annotated]
        self.traces: list[Tensor] = []
        self.drawn: list[int] = []
        self.generators: list[Tensor] = []
        self.checkpoints: list[int] = []
        self.files: dict[str, str] = {}
        self.pending: tuple[list[bytes], Tensor] | None = None
        self._judge_optimizer()
        make_folder(self.folder)
        self._start(frozen)
        self.hooks = [optimizer.register_step_pre_hook(self._before), optimizer.register_step_post_hook(self._after),
                      model.register_forward_pre_hook(self._look)]
        self.moody = {name: part for name, part in self.model.named_modules()  # other in evaluation mode
                      if isinstance(part, DROPOUTS) or hasattr(part, "running_mean")}
        if model is self.model:  # a compiled model's parts are not called one by one
            self.hooks += [part.register_forward_pre_hook(self._precision) for part in model.modules()
                           if next(part.parameters(recurse=False), None) is not None]

    def batch(self, x: Tensor, y: Tensor) -> None:
        """Tell of the examples of the next step, before their forward pass: inputs (b, …), classes (b,)."""
        if y.is_floating_point() or y.ndim != 1:
            self.doubt("its targets are not classes, one number per example")
            self._next([])
        else:
            given = x.detach().cpu()
            self._next(of_arrays((given.float() if x.is_floating_point() else given).numpy(), y.detach().cpu().numpy()))

    def tokens(self, ids: Tensor, mask: Tensor, learned: Tensor) -> None:
        """The same for records (b, T): their tokens, which of them are there, and which the loss is a mean over."""
        self._next(of_tokens(ids, mask, learned))

    def close(self) -> None:
        """Keep the end, and stop. Further steps are not recorded."""
        if self.checkpoints[-1] != len(self.sizes):
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
        return len(self.sizes) + 1

    def _judge_optimizer(self) -> None:
        named = {id(parameter) for group in self.optimizer.param_groups for parameter in group["params"]}
        if why := unfit(self.kind, self.options[0], self.clip):
            self.doubt(why)
        if any(group != self.options[0] for group in self.options):
            self.doubt("its groups of parameters have different options")
        if {id(parameter) for parameter in self.moving.values()} != named:
            self.doubt("the optimizer updates parameters other than those that require gradients")
        if self.optimizer.state:
            self.doubt("the optimizer had made steps before the recording began")

    def _next(self, contents: list[bytes]) -> None:
        if not self.hooks:
            return
        if self.pending is not None:
            self.doubt("gradients of several batches were added up in one step")
            contents = self.pending[0] + contents
        self.pending = contents, generator_state(self.device)

    def _look(self, module: nn.Module, _: Any) -> None:
        """A pass that begins: of a step, where its batch was given."""
        self._precision(module)
        still = [name for name, part in self.moody.items() if not part.training]
        if still and self.pending is not None and torch.is_grad_enabled():
            self.doubt(f"parts of the model were in evaluation mode (`{still[0]}`)")

    def _precision(self, module: nn.Module, *_: Any) -> None:
        """Within the pass too: accelerate puts autocast around `forward` alone."""
        if module.training and torch.is_autocast_enabled(self.device.type):
            self.doubt("its passes ran in a different precision (autocast)")

    def _before(self, _: Any, given: tuple, named: dict[str, Any]) -> None:
        """What decides the step, as it stands before it."""
        if any(callable(one) for one in (*given, *named.values())):
            self.doubt("its steps used a closure, which evaluates the batch inside a step")
        if self.pending is None:
            self.doubt("no batch was given before the step")
            self.pending = [], generator_state(self.device)
        contents, generator = self.pending
        rates = {float(group["lr"]) for group in self.optimizer.param_groups}
        if len(rates) > 1:
            self.doubt("its groups of parameters have different learning rates")
        if options_of(self.optimizer) != self.options:
            self.doubt("the options of its optimizer changed")
        self.rates.append(max(rates))
        self.sizes.append(len(contents))
        self.examples += [self.contents.setdefault(one, len(self.contents)) for one in contents]
        read = not torch.equal(generator, generator_state(self.device))
        self.drawn.append(len(self.generators) if read else -1)
        if read:
            self.generators.append(generator)
        self.pending = None

    def _after(self, *_: Any) -> None:
        self.traces.append(trace(self.moving.values()))
        if len(self.sizes) % self.every == 0:
            self._keep()
            self._guarded(lambda: self._write(False))

    def doubt(self, why: str) -> None:
        """The first step from which something forbids replaying."""
        self.reasons.setdefault(why, len(self.sizes) + 1)

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
        self._save({file_of(len(self.sizes)): {**state, **optimizer_state(self.moving, self.optimizer)}})
        self.checkpoints.append(len(self.sizes))

    def _write(self, finished: bool) -> None:
        """The steps so far and the facts, which vouch for every file: both or none."""
        steps = _bytes({
            "sizes": torch.tensor(self.sizes, dtype=torch.int64), "drawn": torch.tensor(self.drawn, dtype=torch.int64),
            "examples": torch.tensor(self.examples, dtype=torch.int64),
            "contents": torch.tensor([list(one) for one in self.contents], dtype=torch.uint8).reshape(-1, BYTES),
            "rates": torch.tensor(self.rates, dtype=torch.float64),
            "traces": torch.stack(self.traces).cpu() if self.traces else torch.zeros(0, dtype=torch.int64),
            "generators": torch.stack(self.generators) if self.generators else torch.zeros(0, 0, dtype=torch.uint8)})
        files = {**self.files, STEPS: hashlib.sha256(steps).hexdigest()}
        first = next(iter(self.moving.values()))
        facts = RecordingFacts(format=FORMAT, optimizer=self.kind, options=self.options[0], clip=self.clip,
                               trained=tuple(self.moving), dtype=str(first.dtype), device=str(self.device),
                               threads=torch.get_num_threads(), versions=versions_of(*LIBRARIES), steps=len(self.sizes),
                               checkpoints=tuple(self.checkpoints), finished=finished, files=files,
                               adapters=self.adapters, still=self.still,
                               reasons=tuple(Reason(step=step, why=why) for why, step in self.reasons.items()))
        write_together({self.folder / STEPS: steps,
                        self.folder / FACTS: json.dumps(facts.model_dump(mode="json"), indent=1) + "\n"})

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
            warnings.warn(f"The recording ends at step {len(self.sizes)}, but the training continues: {error}",
                          stacklevel=2)

    def _stop(self) -> None:
        for hook in self.hooks:
            hook.remove()
        self.hooks = []


def _bytes(state: State) -> bytes:
    return save({name: value.detach().to("cpu", copy=True).contiguous() for name, value in state.items()})
