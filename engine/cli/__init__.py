"""The command line: `python -m engine COMMAND`. Exit code 0, or 2 with one sentence that says what to do.

1 is an unexpected fault (WHICHFLUENCE_DEBUG=1 shows where), 130 an interruption by Ctrl-C.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from functools import partial

from typer import Abort, TyperException

from engine.basics.errors import WhichfluenceError
from engine.cli.commands import PROGRAM, app

DEBUG = "WHICHFLUENCE_DEBUG"
FINE, FAULT, REFUSED, INTERRUPTED = 0, 1, 2, 130

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command (default: the process's own arguments) and return its exit code."""
    with warnings.catch_warnings():
        warnings.simplefilter("once", UserWarning)
        warnings.showwarning = partial(_warn, warnings.showwarning)
        return _run(arguments)


def _warn(otherwise, message, category, *rest, **named) -> None:
    """A warning of ours as its sentence; those of libraries as Python writes them."""
    if category is UserWarning:
        print(f"Warning: {' '.join(str(message).split())}", file=sys.stderr)
    else:
        otherwise(message, category, *rest, **named)


def _run(arguments: Sequence[str] | None) -> int:
    try:
        code = app(args=None if arguments is None else list(arguments), prog_name=PROGRAM, standalone_mode=False)
    except TyperException as error:
        return _refuse(_usage(error), REFUSED)
    except WhichfluenceError as error:
        return _refuse(str(error), REFUSED)
    except (Abort, KeyboardInterrupt):
        code = INTERRUPTED
    except Exception as error:
        if os.environ.get(DEBUG):
            raise
        return _refuse(_unexpected(error), FAULT)
    if code == INTERRUPTED:
        return _refuse("Interrupted; no file was half written, and a repeated `reproduce` goes on from its last "
                       "finished chunk.", INTERRUPTED)
    return code or FINE


def _refuse(sentence: str, code: int) -> int:
    print(" ".join(sentence.split()), file=sys.stderr)
    return code


def _usage(error: TyperException) -> str:
    """What is wrong with the arguments, and where they are explained."""
    message = error.format_message() if hasattr(error, "format_message") else str(error)
    context = getattr(error, "ctx", None)
    return f"{message.rstrip('. ')}; `{context.command_path if context else PROGRAM} --help` explains the options."


def _unexpected(error: Exception) -> str:
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return "The memory does not suffice; lower --memory, or give fewer queries or candidates."
    first_line = next(iter(str(error).splitlines()), "").rstrip(".")
    return (f"This should not have happened ({type(error).__name__}: {first_line}); "
            f"set {DEBUG}=1 and repeat the command to see where.")
