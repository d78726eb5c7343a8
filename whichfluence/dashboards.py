"""The workbench in the browser, opened from Python on a model and data of one's own."""

from __future__ import annotations

import importlib.util
import inspect
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from engine.basics.errors import InvalidInput
from engine.models.checkpoint import save_checkpoint
from engine.models.recipe import Recipe

START = 120.0
"""Seconds within which a server has to answer."""
BEAT = 0.2


@dataclass(frozen=True, eq=False)
class Dashboard:
    """A running workbench. url: where it answers; `stop()` ends it, and so does leaving a `with` block."""

    url: str
    process: subprocess.Popen[str]

    def stop(self) -> None:
        """End the server; what it computed stays."""
        self.process.terminate()
        self.process.wait()

    def __enter__(self) -> Dashboard:
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()

    def _repr_html_(self) -> str:
        return f'<a href="{self.url}" target="_blank">{self.url}</a>'


def dashboard(build: Callable[..., nn.Module] | str, data: Any, queries: Any = None, *,
              model: nn.Module | str | Path | None = None, name: str = "", shape: Sequence[int] = (),
              whole: bool = False, loss: Callable[..., Any] | str = "", recipe: Recipe | None = None, port: int = 0
              ) -> Dashboard:
    """Open the workbench on a model and data of your own: both stand among the choices of every page, chosen.

    Args:
        build: what makes the model with fresh weights: a function of (shape, classes) or of nothing, written in a file
            (a server of its own imports it, so one of a notebook cannot be had); `"file.py:function"`; or the name of
            a model of the program or of torchvision.
        data: the path of a folder of pictures, a zip, a table, an npz or a JSONL of records; or a pair of arrays or
            tensors (inputs (n, …), labels (n,)), with `queries` such a pair too.
        queries: (inputs (m, …), labels (m,)) that are asked about, where `data` is a pair.
        model: the trained model, its checkpoint, or the folder of a training that `wf.Recorder` wrote; left out, the
            pages train it.
        name: what the model is called on the pages.
        shape: of one input, without the number of examples; that of the arrays by default.
        whole: whether inputs are whole numbers, such as token ids.
        loss: a function of (outputs (b, C), targets (b, …)) -> (b,), as `build` is written, where data have targets in
            place of labels.
        recipe: how it is, or was, trained.
        port: where it answers; 0 takes a free one.

    Raises:
        InvalidInput: where model and data do not fit, with what to do.

    A server that runs is opened by `wf.dashboard("my_module.py:make", "pictures/", model="weights.pt")`; what does not
    fit is said before one starts:

    >>> import whichfluence as wf
    >>> try:
    ...     wf.dashboard("mlp", ([[0.5, 1.0]], [0]))
    ... except wf.InvalidInput as refused:
    ...     print(refused)
    Arrays need queries; give `queries` as a pair (inputs, labels) too.

    """
    with tempfile.TemporaryDirectory() as folder:
        words = ["--model", _written(build), "--data", str(_file(data, queries, Path(folder)))]
        if shape or isinstance(data, (tuple, list)):
            words += ["--shape", ",".join(map(str, shape or np.shape(data[0])[1:]))]
        if model is not None:
            words += ["--checkpoint", str(_weights(model, Path(folder)))]
        if loss:
            words += ["--loss", _written(loss)]
        if recipe is not None:
            (Path(folder) / "recipe.json").write_text(json.dumps(recipe.model_dump(mode="json")))
            words += ["--recipe", str(Path(folder) / "recipe.json")]
        words += [*(["--name", name] if name else []), *(["--whole"] if whole else [])]
        return _started(words, port or _free_port(), Path(folder) / "messages.txt")


def _written(build: Callable[..., Any] | str) -> str:
    """What `run --model`, or `run --loss`, calls it."""
    if isinstance(build, str):
        return build
    try:
        file = inspect.getsourcefile(build)
    except TypeError:
        file = None
    if file is None or not Path(file).is_file() or "." in build.__qualname__ or not file.endswith(".py"):
        raise InvalidInput("The function that builds the model, or is its loss, is not defined at the top level of a "
                           "file; define it at the top level of a module, such as `my_module.py`, and give that "
                           "function.")
    if build.__module__ != "__main__" and "." in build.__module__:
        return f"{build.__module__}:{build.__qualname__}"
    return f"{file}:{build.__qualname__}"


def _file(data: Any, queries: Any, folder: Path) -> Path:
    """The data as a path."""
    if isinstance(data, (str, Path)):
        return Path(data)
    if queries is None:
        raise InvalidInput("Arrays need queries; give `queries` as a pair (inputs, labels) too.")
    (x, y), (query_x, query_y) = (tuple(map(torch.as_tensor, pair)) for pair in (data, queries))
    np.savez(folder / "arrays.npz", x_train=x.flatten(1).numpy(), y_train=y.numpy(),
             x_query=query_x.flatten(1).numpy(), y_query=query_y.numpy())
    return folder / "arrays.npz"


def _weights(model: nn.Module | str | Path, folder: Path) -> Path:
    if isinstance(model, nn.Module):
        return save_checkpoint(model.state_dict(), folder / "model.safetensors")
    return Path(model)


def _started(words: Sequence[str], port: int, messages: Path) -> Dashboard:
    root = Path(str(importlib.util.find_spec("whichfluence").origin)).parents[1]  # type: ignore[union-attr]
    paths = os.pathsep.join(filter(None, [str(root), os.environ.get("PYTHONPATH", "")]))
    with open(messages, "w") as file:
        process = subprocess.Popen([sys.executable, "-m", "whichfluence", "run", *words, "--port", str(port), "--",
                                    "--server.headless", "true"], text=True, stdout=subprocess.DEVNULL, stderr=file,
                                   env={**os.environ, "PYTHONPATH": paths})
    opened = Dashboard(f"http://localhost:{port}", process)
    end = time.monotonic() + START
    while not _answers(opened.url):
        if process.poll() is not None or time.monotonic() > end:
            opened.stop()
            said = messages.read_text().strip().splitlines()
            raise InvalidInput(said[-1] if said else f"The workbench did not answer within {START:.0f} s.")
        time.sleep(BEAT)
    return opened


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/_stcore/health", timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False


def _free_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return held.getsockname()[1]
