"""The commands of requests, made from their declarations: a field is an option or is read from files, what the answer
holds is written."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from functools import partial
from inspect import Parameter, Signature
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

import typer

from engine.basics.csv_text import csv_text
from engine.basics.files import atomic_write
from engine.basics.noted import manifest_part, noting
from engine.basics.values import Value
from engine.cli.program import Deferred, command_line
from engine.cli.setting import DATA, Data, Machine, ProblemOptions

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from engine.requests import JobRequest, Option, Request

METAVARS = {".csv": "CSV", ".json": "JSON", ".npz": "NPZ"}


def declared(where: str) -> Deferred:
    """The command of a request, with an option for each of its fields; its declaration imports torch.

    where: its name in `engine.analysis.catalogue`, or `MODULE:CLASS` of a job that is about no problem.
    """
    def load() -> Callable[..., None]:
        from engine.analysis import catalogue

        return _of_job(catalogue.declared(where)) if ":" in where else _of_problem(catalogue.request(where))

    def listed() -> str:
        from engine.analysis import catalogue

        return catalogue.first_paragraph(where) if ":" in where else catalogue.summary(where)

    return Deferred(load, listed)


def _of_problem(kind: type[Request]) -> Callable[..., None]:
    data = _keyword("data", Annotated[list[Path], DATA] if kind.several else Data)
    return _command(kind, partial(_run, kind), [data, *_outputs(kind, kind.suffixes), *_options(kind),
                                                _keyword("setting", ProblemOptions, ProblemOptions())])


def _of_job(kind: type[JobRequest]) -> Callable[..., None]:
    return _command(kind, partial(_run_job, kind), [*_outputs(kind, {}), *_options(kind),
                                                    _keyword("machine", Machine, Machine())])


def _command(kind: type[JobRequest], run: Any, parameters: Sequence[Parameter]) -> Callable[..., None]:
    run.__name__, run.__doc__ = kind.name, (kind.__doc__ or "").partition("\n\n")[0]
    run.__signature__ = Signature(parameters)
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    return run


def _run(kind: type[Request], /, data: Path | list[Path], setting: ProblemOptions, **given: Any) -> None:
    from engine.cli.problem import Inputs
    from engine.cli.progress import progress

    files = {output: path for output in kind.outputs if (path := given[output]) is not None}
    _check(files, kind.suffixes, kind.vouched, [data, setting, *(given[name] for name in given if name not in files)])
    command = command_line(kind.command or kind.name, {"data": data, **given}, setting.arguments)
    first, *further = data if isinstance(data, list) else [data]
    inputs = Inputs(first, setting, further)
    with noting() as notes:
        request = kind.parse(_fields(kind, given, inputs)).of_command(inputs.problem)
        _say(request.before(inputs.problem))
        with progress(kind.doing) as move:
            answer = request.run(inputs.problem, setting.options(move))
    said = {**manifest_part(notes), "command": command}
    marks = [problem.fingerprint for problem in (inputs.problem, *inputs.others)]
    for output, path in files.items():
        _write(path, request, request.written(answer, inputs.problem, output), output, said,
               marks if further else marks[0])
    _say(request.sentences(answer))
    _say(request.remarks(answer), sys.stderr)


def _run_job(kind: type[JobRequest], /, machine: Machine, **given: Any) -> None:
    from engine.cli.progress import run_shown

    files = {output: path for output in kind.outputs if (path := given[output]) is not None}
    _check(files, {}, (), [given[name] for name in given if name not in files])
    request = kind.parse(_fields(kind, given, None))
    request.check_outputs(files)
    result = run_shown(kind.doing, kind.name, request.payload, machine)
    for output, content in request.exported(result).items():
        if output in files:
            atomic_write(files[output], content)
    _say(request.sentences(request.loaded(result)))
    print(f"Written: {' and '.join(map(str, files.values()))}")


def _say(sentences: Iterable[str], where: Any = None) -> None:
    for sentence in sentences:
        print(sentence, file=where or sys.stdout)


def _check(files: Mapping[str, Path], suffixes: Mapping[str, str], vouched: Collection[str], given: Sequence[Any]
           ) -> None:
    """Refuse outputs that could not be written. given: the other options, whose files no output may replace."""
    from engine.cli.score_files import check_output, manifest_of

    inputs = [path for one in given for path in _paths(one)]
    for output, path in files.items():
        check_output(path, suffixes.get(output, ".csv"), inputs, [manifest_of(path)] if output in vouched else ())


def _paths(given: Any) -> Iterator[Path]:
    """The paths that were given, also within lists and options that commands share."""
    if isinstance(given, Path):
        yield given
    for one in given if isinstance(given, list) else vars(given).values() if is_dataclass(given) else ():
        yield from _paths(one)


def _write(path: Path, request: Request, content: Any, output: str, said: Mapping[str, Any], data: str | list[str]
           ) -> None:
    """A table with the quantity of its numbers, a record, or a file with its manifest, which have the command."""
    from engine.cli.score_files import json_text, write_vouched
    from engine.question import direction

    if output in request.vouched:
        write_vouched(path, content.content, {**content.record, **said})
    elif request.suffixes.get(output) == ".json":
        atomic_write(path, json_text({**content, "data": data, **said}))
    else:
        quantity = request.quantities.get(output)
        atomic_write(path, csv_text(content.assign(**{direction.QUANTITY: quantity}) if quantity else content))


def _outputs(kind: type[JobRequest], suffixes: Mapping[str, str]) -> Iterator[Parameter]:
    for index, (name, help_text) in enumerate(kind.outputs.items()):
        option = typer.Option(help=help_text, metavar=METAVARS[suffixes.get(name, ".csv")])
        yield _keyword(name, Annotated[Path | None, option], None) if index else _keyword(name, Annotated[Path, option])


def _options(kind: type[JobRequest]) -> Iterator[Parameter]:
    for name, field in kind.options().items():
        option, parts = _of(field)
        if option.read:
            yield from (one.replace(kind=Parameter.KEYWORD_ONLY) for one in _read(option.read).values())
            continue
        for part, one in (parts or {name: field}).items():
            value = getattr(field.default, part) if parts else field.default
            yield _keyword(_called(part, one), Annotated[_plain(one.annotation), _option(one)],
                           Parameter.empty if one.is_required() else None if value == () else value)


def _called(name: str, field: FieldInfo) -> str:
    from engine.requests import Option

    return Option.of(field).called or name


def _of(field: FieldInfo) -> tuple[Option, Mapping[str, FieldInfo]]:
    """What the declaration says of a field, and the fields of its parts that are options."""
    from engine.requests import Option
    from engine.scoring.scoring import Scoring

    kind: Any = field.annotation
    option = Option.of(field)
    if kind is Scoring and not option.read:
        option = Option(read="scoring")
    return option, {name: kind.model_fields[name] for name in option.parts}


def _read(reader: str) -> Mapping[str, Parameter]:
    """The options of a reader: its parameters after the first two."""
    from engine.cli.readers import READERS

    return dict(list(inspect.signature(READERS[reader], eval_str=True).parameters.items())[2:])


def _fields(kind: type[JobRequest], given: Mapping[str, Any], inputs: Any) -> dict[str, Any]:
    """The request's fields from what was given for the options."""
    from engine.cli.readers import READERS

    values: dict[str, Any] = {}
    for name, field in kind.options().items():
        option, parts = _of(field)
        whole: Any = field.annotation
        if option.read:
            values[name] = READERS[option.read](inputs, values, **{one: given[one] for one in _read(option.read)})
        elif parts:
            values[name] = whole.parse({part: given[_called(part, one)] for part, one in parts.items()})
        elif (one := given[_called(name, field)]) is not None or field.default is None:
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
