"""The commands of requests, made from their declarations: a field is an option, the answer's tables are files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from inspect import Parameter, Signature
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Union, get_args, get_origin

import typer

from engine.basics.csv_text import csv_text
from engine.basics.files import atomic_write
from engine.basics.values import Value
from engine.cli.program import Deferred
from engine.cli.setting import Data, Setting, Spec

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from engine.requests import Request


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
    made: Any = partial(_run, kind)
    made.__name__, made.__doc__ = kind.name, (kind.__doc__ or "").partition("\n\n")[0]
    parameters = [_keyword("data", Data), *_outputs(kind), *_options(kind), _keyword("setting", Setting, Setting())]
    made.__signature__ = Signature(parameters)
    made.__annotations__ = {one.name: one.annotation for one in parameters}
    return made


def _run(kind: type[Request], data: Path, setting: Setting, **given: Any) -> None:
    from engine.cli.problem import read_problem
    from engine.cli.progress import progress
    from engine.cli.score_files import check_output
    from engine.question import direction

    files = {output: path for output in kind.outputs if (path := given.pop(output)) is not None}
    inputs = [data, *(one for one in given.values() if isinstance(one, Path))]
    for path in files.values():
        check_output(path, ".csv", inputs=inputs)
    asked, problem = kind.parse(_fields(kind, given)), read_problem(data, setting)
    with progress(kind.doing) as move:
        answer = asked.run(problem, setting.options(move))
    for output, table in zip(kind.outputs, asked.tables(answer, problem), strict=True):
        if output in files:
            quantity = asked.quantities.get(output)
            atomic_write(files[output], csv_text(table.assign(**{direction.QUANTITY: quantity}) if quantity else table))
    for sentence in asked.sentences(answer):
        print(sentence)


def _outputs(kind: type[Request]) -> Iterator[Parameter]:
    first, *others = kind.outputs.items()
    yield _keyword(first[0], Annotated[Path, typer.Option(help=first[1], metavar="CSV")])
    for name, said in others:
        yield _keyword(name, Annotated[Path | None, typer.Option(help=said, metavar="CSV")], None)


def _options(kind: type[Request]) -> Iterator[Parameter]:
    from engine.scoring.scoring import Scoring

    for name, field in kind.options().items():
        parts = _parts(field)
        if field.annotation is Scoring:
            yield _keyword("spec", Spec)
            continue
        for part, one in parts.items() if parts else [(name, field)]:
            value = getattr(field.default, part) if parts else field.default
            yield _keyword(part, Annotated[_plain(one.annotation), _option(one)], value)


def _parts(field: FieldInfo) -> Mapping[str, FieldInfo]:
    """The fields of a value of several parts that are options each; none of a plain field."""
    from engine.requests import Shown

    kind: Any = field.annotation
    return {name: kind.model_fields[name] for name in Shown.of(field)}


def _fields(kind: type[Request], given: Mapping[str, Any]) -> dict[str, Any]:
    """The request's fields from what was given for the options."""
    from engine.cli.spec_files import read_spec
    from engine.scoring.scoring import Scoring

    values = dict(given)
    for name, field in kind.options().items():
        if field.annotation is Scoring:
            values[name] = read_spec(values.pop("spec"))
        elif parts := _parts(field):
            whole: Any = field.annotation
            values[name] = whole.parse({part: values.pop(part) for part in parts})
    return values


def _option(field: FieldInfo) -> Any:
    bounds = {side: getattr(one, at) for one in field.metadata for side, at in (("min", "ge"), ("max", "le"))
              if getattr(one, at, None) is not None}
    return typer.Option(help=field.description, **bounds)


def _plain(annotation: Any) -> Any:
    """What Typer reads a field as: its type without what pydantic adds to it."""
    if get_origin(annotation) is Annotated:
        return _plain(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        kinds = [_plain(one) for one in get_args(annotation) if one is not NoneType]
        return kinds[0] | None if len(kinds) == 1 else str
    return str if isinstance(annotation, type) and issubclass(annotation, Value) else annotation


def _keyword(name: str, kind: Any, default: Any = Parameter.empty) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=kind)
