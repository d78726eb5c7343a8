"""The base of every frozen value: strict fields, canonical JSON, and one-sentence validation errors."""

from __future__ import annotations

import json
from typing import Annotated, Any, ClassVar, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from engine.basics.errors import InvalidInput
from engine.basics.registry import unknown

BOUNDS = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum"}


class Value(BaseModel):
    """A frozen pydantic model that refuses unknown keys and compares by content. Raises `InvalidInput` where a field
    is wrong."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def __init__(self, **fields: Any) -> None:
        try:
            super().__init__(**fields)
        except ValidationError as error:
            raise InvalidInput(sentence(error, type(self))) from None

    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]  # values within a value are validated as before

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """With the bounds of every field by the names of JSON Schema; pydantic writes those of `Number` and `Count` by
        its own, which validators ignore."""
        schema = handler(core)
        for field in handler.resolve_ref_schema(schema).get("properties", {}).values():
            field.update({BOUNDS[bound]: field.pop(bound) for bound in BOUNDS.keys() & field.keys()})
        return schema

    @classmethod
    def parse(cls, data: Any) -> Self:
        """Build from plain data; every fault becomes one `InvalidInput` sentence."""
        try:
            return cls.__pydantic_validator__.validate_python(data)  # a quarter faster than model_validate
        except ValidationError as error:
            raise InvalidInput(sentence(error, cls)) from None


class Sparse(Value):
    """A value that is written without the fields `unwritten` where they have their default, so that its digest is that
    of the time before there were such fields."""

    unwritten: ClassVar[tuple[str, ...]] = ()

    @model_serializer(mode="wrap")
    def _written(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        written = serialize(self)
        for name in self.unwritten:
            if getattr(self, name) == type(self).model_fields[name].get_default(call_default_factory=True):
                written.pop(name, None)
        return written


def _not_bool(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("true/false is not a number")
    return value


# Adding zero turns −0.0, which equals 0.0 but is written otherwise, into 0.0.
Number = Annotated[float, BeforeValidator(_not_bool), AfterValidator(lambda number: number + 0.0)]
Count = Annotated[int, BeforeValidator(_not_bool)]
LARGEST_SEED = 2**63 - 1
"""What every generator of random numbers here takes."""
Seed = Annotated[Count, Field(ge=0, le=LARGEST_SEED)]


def canonical_json(data: Any) -> str:
    """JSON with sorted keys, no white space and no NaN: one text for one value."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=False)


def short(number: float) -> str:
    """A number as people write it, to all its digits: 0.1, 20, 1e-05 → 1e-5."""
    text = repr(float(number)).removesuffix(".0")
    if "e" in text:
        mantissa, exponent = text.split("e")
        return f"{mantissa}e{int(exponent)}"
    return text


def figures(number: float, digits: int = 3, sign: str = "") -> str:
    """A number to three significant figures, as people write it, with a true minus sign.

    >>> figures(3.3712e-5), figures(3.3712), figures(0.5, sign="+")
    ('3.37e−5', '3.37', '+0.5')
    """
    mantissa, _, exponent = f"{number:{sign}.{digits}g}".partition("e")
    return (f"{mantissa}e{int(exponent)}" if exponent else mantissa).replace("-", "−")


def signed(number: float, digits: int = 3, sign: str = "") -> str:
    """A number with so many decimals and a true minus sign, and none before zero.

    >>> signed(-0.1234), signed(-1e-4, 2), signed(0.5, 1, "+")
    ('−0.123', '0.00', '+0.5')
    """
    return f"{number:{sign}z.{digits}f}".replace("-", "−")


def capital(text: str) -> str:
    """A text with its first letter large, and the others as they are."""
    return f"{text[:1].upper()}{text[1:]}"


def sentence(error: ValidationError, model: type[BaseModel]) -> str:
    """The first fault of a validation error, as a sentence that names the key and the remedy."""
    fault = error.errors(include_url=False)[0]
    path = ".".join(str(part) for part in fault["loc"] if not str(part).startswith("function-"))
    what = model.__name__.lower()
    kind, context = fault["type"], fault.get("ctx", {})
    if kind == "extra_forbidden":
        return f"Unknown key `{path}` in the {what}; remove it or correct its spelling."
    if kind == "missing":
        return f"The key `{path}` is missing in the {what}; add it."
    if kind == "union_tag_invalid":
        known = [tag.strip().strip("'") for tag in context["expected_tags"].split(",")]
        return unknown(path or what, context["tag"], known)
    if kind == "union_tag_not_found":
        return f"`{path or what}` has no `kind`; write it as {{\"kind\": …}}."
    if kind == "value_error":
        text = str(context.get("error", fault["msg"]))
        if isinstance(context.get("error"), InvalidInput):
            return text
        return f"`{path}`: {text}." if path else f"{capital(text)}."
    return f"`{path or what}` is {fault.get('input')!r}: {fault['msg'][0].lower()}{fault['msg'][1:]}."
