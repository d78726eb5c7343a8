"""The run of a language model as options: its model, records and recipe, or the JSON of a run of the page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from engine.basics.errors import InvalidInput
from engine.basics.strict_json import parse_json
from engine.basics.values import LARGEST_SEED
from engine.cli.reading import AnswerPattern, ExplanationPattern, Turns

if TYPE_CHECKING:
    from engine.applications.language.run import AttributionRequest


@dataclass(frozen=True)
class LanguageRun:
    """A language model, the records that it is fine-tuned on and scored for, and how; or `run`, which says all."""

    model: Annotated[str, typer.Option(help="The language model: a folder, a PEFT folder with its base, a name under "
                                            "WHICHFLUENCE_MODELS or on the hub.", metavar="NAME")] = ""
    train: Annotated[Path | None, typer.Option(help="Training records as JSONL or JSON.", metavar="FILE")] = None
    queries: Annotated[Path | None, typer.Option(help="Query records (default: the last --held of --train).",
                                                 metavar="FILE")] = None
    held: Annotated[int | None, typer.Option(help="Number of final training records that are used as queries instead "
                                                  "of for training (default: 8).", min=1)] = None
    turns: Turns = "last"
    answer_pattern: AnswerPattern = ""
    explanation_pattern: ExplanationPattern = ""
    recipe: Annotated[str, typer.Option(help="Fields of the fine-tuning recipe as JSON, as in '{\"epochs\": 2}'; "
                                             "`list --json` describes them. 0 epochs attribute the model as it is.",
                                        metavar="JSON")] = "{}"
    seed: Annotated[int, typer.Option(help="Fine-tuning seed.", min=0, max=LARGEST_SEED)] = 0
    run: Annotated[str, typer.Option(help="The run as JSON instead of all these options, or a JSON file, as shown on "
                                          "the Language models page.", metavar="JSON")] = ""

    @property
    def request(self) -> AttributionRequest:
        """Raises `InvalidInput` for options that do not say a run, or say it twice."""
        if self.run:
            if LanguageRun(run=self.run) != self:
                raise InvalidInput("--run specifies the whole run; leave out --model, --train, --queries, --held, "
                                   "--turns, --answer-pattern, --explanation-pattern, --recipe and --seed, or --run.")
            return read_run(self.run)
        if not self.model or self.train is None:
            raise InvalidInput("A run needs --model and --train; give both, or --run with the JSON of a run.")
        if self.queries and self.held:
            raise InvalidInput("--queries takes separate records, --held the last of --train; give one of them.")
        return request_of({"model": self.model, "task": self._task, "seed": self.seed,
                           "recipe": parse_json(self.recipe, "--recipe", 'write {"epochs": 2}')})

    @property
    def _task(self) -> dict[str, Any]:
        patterns = {"answer": self.answer_pattern, "explanation": self.explanation_pattern}
        given = {"queries": self.queries and str(self.queries), "held": self.held,
                 "turns": self.turns if self.turns != "last" else None,
                 "mark": {span: pattern for span, pattern in patterns.items() if pattern}}
        return {"name": "own", "train": str(self.train), **{name: value for name, value in given.items() if value}}


def read_run(text: str) -> AttributionRequest:
    """The run of the JSON that the page gives, or of the file that it names."""
    data = parse_json(text if text.lstrip().startswith(("{", "[")) else _content(text), "--run",
                      "copy it from the page, including the quotes")
    if not isinstance(data, dict):
        raise InvalidInput("--run is not a JSON object; write {\"model\": …, \"task\": …}.")
    return request_of(data)


def request_of(data: Mapping[str, Any]) -> AttributionRequest:
    """The run of such an object. Where it says nothing of a projection, gradients are stored as a run of the page
    stores them."""
    from engine.applications.language.fine_tuned import Setting
    from engine.applications.language.run import AttributionRequest
    from engine.data.records import Record
    from engine.experiments.language_study import BUDGET

    rest = {key: value for key, value in data.items() if key not in ("seed", "asked")}
    seed, explained = data.get("seed", 0), data.get("asked", [])
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed <= LARGEST_SEED:
        raise InvalidInput(f"`seed` is {str(seed)[:40]}; give a whole number from 0 to {LARGEST_SEED:,}.")
    if not isinstance(explained, list):
        raise InvalidInput("`asked` is not a list; give the records to explain, each with a prompt and a response.")
    return AttributionRequest(setting=Setting.parse({"projection": {"budget": BUDGET}, **rest}), seed=seed,
                              explained=tuple(Record.parse(item) for item in explained))


def _content(name: str) -> bytes:
    """What the file holds that --run names."""
    try:
        return Path(name).read_bytes()
    except (OSError, ValueError) as error:  # a name may also be too long, or hold a zero byte
        reason = error.strerror if isinstance(error, OSError) else "not a valid file name"
        raise InvalidInput(f"--run names `{name[:80]}`, which cannot be read ({reason}); give JSON, or a file of "
                           "it.") from None
