"""The commands of requests, made from their declarations: a field is an option or is read from files, what the answer
holds is written."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from inspect import Parameter, Signature
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

import typer

from engine.basics.csv_text import csv_text
from engine.basics.files import atomic_write
from engine.basics.values import Value
from engine.cli.program import Deferred, command_line
from engine.cli.setting import Data, ProblemOptions

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from engine.requests import Option, Request

METAVARS = {".csv": "CSV", ".json": "JSON", ".npz": "NPZ"}


def declared(name: str) -> Deferred:
    """The command of the request `name`, with an option for each of its fields; its declaration imports torch."""
    def load() -> Callable[..., None]:
        from engine.analysis.catalogue import request

        return _command(request(name))

    def listed() -> str:
        from engine.analysis.catalogue import summary

        return summary(name)

    return Deferred(load, listed)


def _command(kind: type[Request]) -> Callable[..., None]:
    command: Any = partial(_run, kind)
    command.__name__, command.__doc__ = kind.name, (kind.__doc__ or "").partition("\n\n")[0]
    parameters = [_keyword("data", Data), *_outputs(kind), *_options(kind),
                  _keyword("setting", ProblemOptions, ProblemOptions())]
    command.__signature__ = Signature(parameters)
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    return command


def _run(kind: type[Request], data: Path, setting: ProblemOptions, **given: Any) -> None:
    from engine.cli.progress import progress
    from engine.cli.readers import Inputs

    files = {output: path for output in kind.outputs if (path := given[output]) is not None}
    _check(kind, files, [data, *setting.reading.inputs,
                         *(one for name, one in given.items() if isinstance(one, Path) and name not in files)])
    command = command_line(kind.command or kind.name, {"data": data, **given}, setting.arguments)
    inputs = Inputs(data, setting)
    request = kind.parse(_fields(kind, given, inputs))
    problem, _ = inputs.listed
    request = request.of_command(problem)
    _say(request.before(problem))
    with progress(kind.doing) as move:
        answer = request.run(problem, setting.options(move))
    for output, path in files.items():
        _write(path, request, request.written(answer, problem, output), output, command, problem.fingerprint)
    _say(request.sentences(answer))
    _say(request.remarks(answer), sys.stderr)


def _say(sentences: Iterable[str], where: Any = None) -> None:
    for sentence in sentences:
        print(sentence, file=where or sys.stdout)


def _check(kind: type[Request], files: Mapping[str, Path], inputs: list[Path]) -> None:
    from engine.cli.score_files import check_output, check_scores_output

    for output, path in files.items():
        if (suffix := kind.suffixes.get(output, ".csv")) == ".npz":
            check_scores_output(path, inputs=inputs)
        else:
            check_output(path, suffix, inputs=inputs)


def _write(path: Path, request: Request, content: Any, output: str, command: str, data: str) -> None:
    """A table with the quantity of its numbers, scores with their manifest, or a record with its command."""
    from engine.cli.score_files import json_text, write_scores
    from engine.question import direction

    suffix = request.suffixes.get(output, ".csv")
    if suffix == ".npz":
        write_scores(path, content, command)
    elif suffix == ".json":
        atomic_write(path, json_text({**content, "data": data, "command": command}))
    else:
        quantity = request.quantities.get(output)
        atomic_write(path, csv_text(content.assign(**{direction.QUANTITY: quantity}) if quantity else content))


def _outputs(kind: type[Request]) -> Iterator[Parameter]:
    for index, (name, help_text) in enumerate(kind.outputs.items()):
        option = typer.Option(help=help_text, metavar=METAVARS[kind.suffixes.get(name, ".csv")])
        yield _keyword(name, Annotated[Path | None, option], None) if index else _keyword(name, Annotated[Path, option])


def _options(kind: type[Request]) -> Iterator[Parameter]:
    for name, field in kind.options().items():
        option, parts = _of(field)
        if option.read:
            yield from (one.replace(kind=Parameter.KEYWORD_ONLY) for one in _read(option.read).values())
            continue
        for part, one in parts.items() if parts else [(option.called or name, field)]:
            value = getattr(field.default, part) if parts else field.default
            yield _keyword(part, Annotated[_plain(one.annotation), _option(one)], None if value == () else value)


def _of(field: FieldInfo) -> tuple[Option, Mapping[str, FieldInfo]]:
    """What the declaration says of a field, and the fields of its parts that are options."""
    from engine.requests import Option
    from engine.scoring.scoring import Scoring

    kind: Any = field.annotation
    option = Option(read="scoring") if kind is Scoring else Option.of(field)
    return option, {name: kind.model_fields[name] for name in option.parts}


def _read(reader: str) -> Mapping[str, Parameter]:
    """The options of a reader: its parameters after the first two."""
    from engine.cli.readers import READERS

    return dict(list(inspect.signature(READERS[reader], eval_str=True).parameters.items())[2:])


def _fields(kind: type[Request], given: Mapping[str, Any], inputs: Any) -> dict[str, Any]:
    """The request's fields from what was given for the options."""
    from engine.cli.readers import READERS

    values: dict[str, Any] = {}
    for name, field in kind.options().items():
        option, parts = _of(field)
        whole: Any = field.annotation
        if option.read:
            values[name] = READERS[option.read](inputs, values, **{one: given[one] for one in _read(option.read)})
        elif parts:
            values[name] = whole.parse({part: given[part] for part in parts})
        elif (one := given[option.called or name]) is not None or field.default is None:
            values[name] = one
    return values


def _option(field: FieldInfo) -> Any:
    bounds = {side: getattr(one, at) for one in field.metadata for side, at in (("min", "ge"), ("max", "le"))
              if getattr(one, at, None) is not None}
    return typer.Option(help=field.description, **bounds)


def _plain(annotation: Any) -> Any:
    """What Typer reads a field as: its type without what pydantic adds to it."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return _plain(get_args(annotation)[0])
    if origin is tuple:
        return list[_plain(get_args(annotation)[0])] | None  # type: ignore[misc]
    if origin in (Union, UnionType):
        kinds = [_plain(one) for one in get_args(annotation) if one is not NoneType]
        return kinds[0] | None if len(kinds) == 1 else str
    return str if origin is Literal or isinstance(annotation, type) and issubclass(annotation, Value) else annotation


def _keyword(name: str, kind: Any, default: Any = Parameter.empty) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=kind)
