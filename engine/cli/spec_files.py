"""spec.json, specs.json and problem.json, read strictly: small files, each key once, no NaN; and --source."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from engine.basics.errors import InvalidInput
from engine.basics.files import read_whole
from engine.basics.strict_json import noun, parse_json
from engine.models import any_recipe
from engine.models.recipe import Recipe, TrainingRecipe
from engine.problems import ProblemSource
from engine.scoring.scoring import Scoring

MAX_BYTES = 1_000_000
LONGEST_NAME = 200


def read_spec(path: Path) -> Scoring:
    """The scoring in spec.json. Raises `InvalidInput` or `MissingData` with one sentence."""
    data = _read(path)
    if not isinstance(data, dict):
        raise InvalidInput(f"`{path}` holds {noun(data)}, not one specification; write "
                           '{"behavior": …, "intervention": …, "process": …}.')
    return Scoring.parse(data)


def read_object(path: Path) -> dict[str, Any]:
    """The JSON object in a file, such as a manifest."""
    data = _read(path)
    if not isinstance(data, dict):
        raise InvalidInput(f"`{path}` holds {noun(data)}, not an object; check the path.")
    return data


def read_specs(path: Path, least: int = 2) -> dict[str, Scoring]:
    """The named scorings in specs.json, in order, `least` of them at least."""
    data = _read(path)
    if not isinstance(data, list):
        raise InvalidInput(f"`{path}` holds {noun(data)}, not a list; write " '[{"name": …, "spec": {…}}, …].')
    named: dict[str, Scoring] = {}
    for number, entry in enumerate(data, start=1):
        name, spec = _entry(number, entry)
        if name in named:
            raise InvalidInput(f"Two entries of `{path}` are named `{name}`; give each its own name.")
        try:
            named[name] = Scoring.parse(spec)
        except InvalidInput as error:
            raise InvalidInput(f"Specification `{name}`: {error}") from None
    if len(named) < least:
        raise InvalidInput(f"`{path}` holds {len(named)}, but a comparison needs at least two specifications; add one, "
                           "or use `influence`.")
    return named


def read_source(path: Path) -> ProblemSource:
    """The problem that problem.json names by dataset, sizes, model and seed."""
    return ProblemSource.parse(_read(path, "problem file"))


def read_recipe(path: Path) -> Recipe:
    """How a network is trained, as a JSON object."""
    return Recipe.parse(_read(path, "recipe file"))


def read_training(path: Path, model: str) -> TrainingRecipe:
    """How a network is trained, or a language model fine-tuned, as a JSON object."""
    return any_recipe.read_recipe(_read(path, "recipe file"), model)


def parse_source(text: str) -> Any:
    """The JSON that a page gives for --source. Raises `InvalidInput` for what is none."""
    return parse_json(text, "--source", "copy it from the page, including the quotes")


def _entry(number: int, entry: Any) -> tuple[str, Any]:
    if not isinstance(entry, dict) or set(entry) != {"name", "spec"}:
        raise InvalidInput(f'Entry {number} of the specifications is not {{"name": …, "spec": {{…}}}}; '
                           "give it these two keys and no other.")
    name = entry["name"]
    if not isinstance(name, str) or not name.strip() or not name.isprintable() or len(name) > LONGEST_NAME:
        raise InvalidInput(f"The name of entry {number} is not a line of text of 1 to {LONGEST_NAME} characters; "
                           "give it one.")
    return name, entry["spec"]


def _read(path: Path, what: str = "specification file") -> Any:
    content = read_whole(path, what, MAX_BYTES, f"`{path}` is larger than 1 MB, which no {what} needs; check the path.")
    return parse_json(content, f"`{path}`")
