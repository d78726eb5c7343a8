"""`run`: the workbench in the browser, with a user's own model and data among its choices where they are given."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from engine.applications.lessons.answers import Answers
from engine.basics.errors import InvalidInput
from engine.cli.class_server import open_to_class
from engine.cli.reading import ReadingOptions
from engine.cli.setting import Checkpoint, OwnLoss, RecipeFile, parse_shape

WRITTEN = {"whole": (bool, "true or false"), "size": (int, "a whole number")}
"""Options that a configuration does not write as text."""
PATHS = ("checkpoint", "data", "recipe", "trusted", "classes", "embeddings")
CODE = ("model", "loss")
ENTRY = Path(__file__).parents[2] / "app" / "main.py"


@dataclass(frozen=True)
class OwnModel:
    """A model and data of one's own, as options of `run`."""

    model: Annotated[str, typer.Option(help="An architecture of your own, FILE.py:FUNCTION or MODULE:FUNCTION, a "
                                            "function of (shape, classes), or of no arguments, that returns a torch "
                                            "module; or a model that `list` shows.", metavar="FILE.py:FUNCTION")] = ""
    name: Annotated[str, typer.Option(help="The model's name on the pages (default: the file's name).")] = ""
    checkpoint: Checkpoint = None
    data: Annotated[Path | None, typer.Option(help="A folder of images, a zip of one, a table, an npz of arrays, or "
                                                   "records as JSONL.", metavar="PATH")] = None
    reading: ReadingOptions = ReadingOptions()
    shape: Annotated[str, typer.Option(help="The shape of one input, such as 1,28,28 (default: channels, height and "
                                            "width of an image, else flat).", metavar="C,H,W")] = ""
    whole: Annotated[bool, typer.Option("--whole", help="Inputs are integers, such as token ids.")] = False
    recipe: RecipeFile = None
    loss: OwnLoss = ""
    config: Annotated[Path | None, typer.Option(help="Options from a TOML file, by name; options given here take "
                                                     "precedence.", metavar="TOML")] = None


def run(
    options: Annotated[list[str] | None, typer.Argument(
        help="Options of Streamlit, after `--`: `run -- --server.headless true`.", metavar="[-- OPTIONS]")] = None,
    port: Annotated[int, typer.Option(help="The dashboard is at http://localhost:PORT.", min=1, max=65_535)] = 8501,
    classroom: Annotated[str, typer.Option(
        help="Let a class join the lessons from devices on the network, with a code: the address of this machine on "
             "that network, or `auto`. Devices can answer questions and do nothing "
             "else.", metavar="ADDRESS|auto")] = "",
    own: OwnModel = OwnModel(),
) -> None:
    """Serve the workbench to this machine's browser until Ctrl-C."""
    if own != OwnModel():
        _declare(own)
    opened = _for_a_class(classroom, port) if classroom else []
    command = [sys.executable, "-m", "streamlit", "run", str(ENTRY), "--server.port", str(port), *opened,
               *(options or [])]
    os.execv(sys.executable, command)  # so that signals reach the server itself


def _for_a_class(address: str, port: int) -> list[str]:
    """Options of Streamlit; the answers of an earlier class, whose code no longer holds, are deleted."""
    opened = open_to_class(address, port, os.environ)
    Answers().clear()
    return opened


def _declare(own: OwnModel) -> None:
    """Keep data and weights, and say what is understood. Raises `InvalidInput` or `MissingData`; nothing starts then.
    """
    from engine.cli.spec_files import read_training
    from engine.problems.own_model import declare

    own = _configured(own)
    if own.data is None:
        own.reading.refuse("give --data.")
    for sentence in declare(model=own.model, name=own.name, checkpoint=own.checkpoint, data=own.data,
                            read=own.reading.fields, shape=parse_shape(own.shape), whole=own.whole, loss=own.loss,
                            recipe=read_training(own.recipe, own.model) if own.recipe else None):
        print(sentence, file=sys.stderr)


def _configured(own: OwnModel) -> OwnModel:
    """With what the configuration says where the command line says nothing; its paths count from its folder."""
    if own.config is None:
        return own
    import tomllib
    from dataclasses import replace

    from engine.basics.files import read_whole

    try:
        given = tomllib.loads(read_whole(own.config, "configuration").decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"`{own.config}` is not TOML ({error}); write lines such as model = "
                           '"my_module.py:make".') from None
    now, usual = _values(own), _values(OwnModel())
    if strangers := sorted(set(given) - set(usual)):
        raise InvalidInput(f"`{own.config}` has the key `{strangers[0]}`; it may have {', '.join(usual)}.")
    values: dict[str, Any] = {}
    for name, value in given.items():
        wanted, words = WRITTEN.get(name, (str, "text"))
        if type(value) is not wanted:
            raise InvalidInput(f"`{name}` in `{own.config}` is {value!r}; give {words}.")
        if now[name] == usual[name]:
            values[name] = _beside(own.config.parent, name, value)
    of_data = {name: values.pop(name) for name in vars(own.reading) if name in values}
    return replace(own, **values, reading=replace(own.reading, **of_data))


def _values(own: OwnModel) -> dict[str, Any]:
    """Option -> its value, but for the configuration."""
    values = {**vars(own), **vars(own.reading)}
    return {name: value for name, value in values.items() if name not in ("config", "reading")}


def _beside(folder: Path, name: str, value: Any) -> Any:
    """A value of the configuration as the option takes it."""
    if name in PATHS:
        return folder / value
    return str(folder / value) if name in CODE and value.partition(":")[0].endswith(".py") else value

