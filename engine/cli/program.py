"""The program around the commands: exit code 0, or 2 with one sentence that says what to do.

1 is an unexpected fault (WHICHFLUENCE_DEBUG=1 shows where), 130 an interruption by Ctrl-C.
"""

from __future__ import annotations

import os
import shlex
import sys
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import partial, wraps
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Abort, TyperException
from typer.main import get_group

from engine.basics import plugins
from engine.basics.errors import WhichfluenceError
from engine.basics.terminal import plain_output
from engine.cli.parameters import spread

PROGRAM = "python -m engine"
DEBUG = "WHICHFLUENCE_DEBUG"
FINE, FAULT, REFUSED, PARTLY, INTERRUPTED = 0, 1, 2, 3, 130

# What the engine's sentences name, and the option that sets it in a command that has it.
OPTIONS = {"memory budget": "--memory", "raise l2": "--l2", "an l2": "--l2", "give its `recipe`": "--recipe",
           "uses no language model; leave it out": "--model",
           "trust some of the unverified labels": "--trust-labels-in-doubt", "as the first seed": "--first-seed",
           "without adding": "--add", "leave the bank out": "--bank", "a later seed": "--later",
           "name the two to explain": "--between", "name the query": "--query",
           "choose another column": "--label"}


@dataclass(frozen=True)
class Deferred:
    """A command that is made when it is needed, since that takes long: `load()` makes it, `summary()` is its line in
    `--help`."""

    load: Callable[[], Callable[..., None]]
    summary: Callable[[], str]


Commands = Mapping[str, Callable[..., None] | Deferred]
Panels = Mapping[str, Commands]
"""Commands by the heading of `--help` under which they are listed; `HIDDEN` for those that it does not list."""
HIDDEN = ""


def run(panels: Panels, arguments: Sequence[str] | None = None) -> int:
    """Run one of the commands (default: the one that the process's own arguments name) and return its exit code."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("once", UserWarning)
        warnings.showwarning = partial(_warn, warnings.showwarning)
        return _run(application(panels, arguments[0] if arguments else ""), arguments)


def application(panels: Panels, named: str | None = None) -> typer.Typer:
    """The commands by their names, in the order in which `--help` lists them.

    A parameter that is a dataclass stands for its fields, as `engine.cli.parameters.spread` says. named: the command
    that will be run, which then is the only one; any other word makes commands from requests that can be listed alone
    (default: all are made whole).
    """
    app = typer.Typer(add_completion=False, rich_markup_mode="rich", pretty_exceptions_enable=False)
    app.callback()(_whichfluence)
    alone = any(named in commands for commands in panels.values())
    for title, commands in panels.items():
        shown: dict[str, Any] = {"rich_help_panel": title or None, "hidden": title == HIDDEN}
        for name, command in commands.items():
            if alone and name != named:
                continue
            if not isinstance(command, Deferred):
                app.command(name, **shown)(_plainly(spread(command)))
            elif named in (None, name):
                app.command(name, **shown)(_plainly(spread(command.load())))
            else:
                app.command(name, help=command.summary(), **shown)(_listed)
    return app


def _plainly(command: Callable[..., None]) -> Callable[..., None]:
    """The command, whose output is plain text; help is coloured where a terminal takes it."""
    @wraps(command)
    def run_plainly(*given: Any, **named: Any) -> None:
        with plain_output():
            command(*given, **named)

    return run_plainly


def _listed() -> None:
    """Stands for a command in the list."""


def command_line(command: str, given: Mapping[str, Any], arguments: Sequence[str] = ()) -> str:
    """The command line that repeats a command; of an absolute path it keeps the file's name only. given: option ->
    value; what is None or False is left out, a list repeats its option. arguments: words that follow."""
    return f"{PROGRAM} {shlex.join([command, *option_words(given), *arguments])}"


def option_words(given: Mapping[str, Any]) -> list[str]:
    """The words of such options."""
    words: list[str] = []
    for name, value in given.items():
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is not None and one is not False:
                text = short(one) if isinstance(one, (Path, str)) else repr(one)
                words += [f"--{name.replace('_', '-')}", *([] if one is True else [text])]
    return words


def chosen(options: Any, always: Collection[str] = ()) -> dict[str, Any]:
    """Option -> value of a dataclass of options, and of those in it: what is not its default, and `always` some."""
    given: dict[str, Any] = {}
    for field in fields(options):
        value = getattr(options, field.name)
        if is_dataclass(value):
            given |= chosen(value, always)
        elif value != field.default or field.name in always:
            given[field.name] = value
    return given


def short(word: str | Path) -> str:
    """A word of a command line that is to be kept: of an absolute path the file's name."""
    return word.name if isinstance(word, Path) and word.is_absolute() else str(word)


def advised(sentence: str, options: Sequence[str]) -> str:
    """The sentence, with the option in brackets behind what one of `options` sets."""
    for words, option in OPTIONS.items():
        if option in options and option not in sentence:
            sentence = sentence.replace(words, f"{words} ({option})", 1)
    return sentence


def _version(wanted: bool) -> None:
    if wanted:
        from engine.basics.provenance import versions

        print(f"whichfluence {versions()['whichfluence']}")
        raise typer.Exit


def _whichfluence(version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True,
                                                        help="Show the version.")] = False) -> None:
    """Data influence under an explicit specification: behavior, intervention and training process."""
    plugins.load()


def _warn(otherwise: Callable[..., None], message: Warning | str, category: type[Warning], *rest: Any,
          **named: Any) -> None:
    """A warning of ours as its sentence; those of libraries as Python writes them."""
    if category is UserWarning:
        print(f"Warning: {' '.join(str(message).split())}", file=sys.stderr)
    else:
        otherwise(message, category, *rest, **named)


def _run(app: typer.Typer, arguments: Sequence[str]) -> int:
    try:
        code = app(args=arguments, prog_name=PROGRAM, standalone_mode=False)
    except TyperException as error:
        return _refuse(_usage(error), REFUSED)
    except WhichfluenceError as error:
        return _refuse(advised(str(error), _options(app, arguments)), REFUSED)
    except (Abort, KeyboardInterrupt):
        code = INTERRUPTED
    except OSError as error:
        if os.environ.get(DEBUG):
            raise
        return _refuse(_unusable(error), REFUSED)
    except Exception as error:
        if os.environ.get(DEBUG):
            raise
        return _refuse(_unexpected(error), FAULT)
    if code == INTERRUPTED:
        return _refuse("Interrupted; no partial file was written, and `reproduce` continues from its last finished "
                       "chunk when repeated.", INTERRUPTED)
    return code or FINE


def _options(app: typer.Typer, arguments: Sequence[str]) -> list[str]:
    """The options of the command that the arguments name."""
    commands = get_group(app).commands
    command = next(word for word in arguments if word in commands)
    return [option for parameter in commands[command].params for option in parameter.opts]


def _refuse(sentence: str, code: int) -> int:
    with plain_output():
        print(" ".join(sentence.split()), file=sys.stderr)
    return code


def _usage(error: TyperException) -> str:
    """What is wrong with the arguments, and where they are explained."""
    message = error.format_message() if hasattr(error, "format_message") else str(error)
    context = getattr(error, "ctx", None)
    return f"{message.rstrip('. ')}; `{context.command_path if context else PROGRAM} --help` lists the options."


def _unusable(error: OSError) -> str:
    """A fault of the disk that no reader or writer foresaw."""
    named = f"`{str(error.filename)[:80]}`" if error.filename else "A file or folder"
    return (f"{named} cannot be used ({error.strerror or type(error).__name__}); check the path, its permissions and "
            "the space on its disk.")


def _unexpected(error: Exception) -> str:
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return "Out of memory; lower --memory, or use fewer queries or candidates."
    first_line = next(iter(str(error).splitlines()), "").rstrip(".")
    return (f"Unexpected error ({type(error).__name__}: {first_line}); "
            f"set {DEBUG}=1 and repeat the command for a traceback.")
