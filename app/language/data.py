"""Between the Language models page and the engine: what a run is, whether it is done, and how to start one."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from app.widgets.desk import desk
from engine.applications.language import catalogue, models
from engine.applications.language.attribution import Setting
from engine.applications.language.records import Record, parse_lines
from engine.applications.language.tasks import TASKS
from engine.basics.errors import InvalidInput
from engine.basics.files import atomic_write
from engine.experiments import backdoor, response_corruption
from engine.jobs import Job, job_digest
from engine.runs import language as language_run
from engine.store.results import Result, Store, home

SIZES = (80, 200, 1_000, 5_000)
SHARES = {"response_corruption": {"clean": 0.8, "answer": 0.1, "rationale": 0.1},
          "conditional_backdoor": {"clean": 0.8, "poison": 0.1, "benign": 0.1}}
QUERIES = {"response_corruption": "validation", "conditional_backdoor": "test"}
STUDIES = {"response_corruption": response_corruption, "conditional_backdoor": backdoor}


@dataclass(frozen=True)
class Asked:
    """What the reader chose: task, model, number of training records, seed, own file, and a typed query if any."""

    task: str
    model: str
    records: int
    seed: int
    file: str = ""
    typed: Record | None = None

    @property
    def setting(self) -> Setting:
        """The setting of its run: short records and a strong recipe below a thousand records, else the paper's."""
        if self.task == "own":
            task: dict[str, Any] = {"name": "own", "train": self.file}
            recipe = response_corruption.SETTINGS["small"]["recipe"]
            return _setting(self.model, task, recipe)
        preset = "small" if self.records < 1_000 else "paper"
        chosen = STUDIES[self.task].SETTINGS[preset]
        sizes = {name: round(share * self.records) for name, share in SHARES[self.task].items()}
        queries = {QUERIES[self.task]: max(8, self.records // 10)}
        return _setting(self.model, {**chosen["task"], **sizes, **queries}, chosen["recipe"])

    @property
    def payload(self) -> dict[str, Any]:
        return language_run.payload(self.setting, self.seed, [self.typed] if self.typed else [])

    @property
    def command(self) -> str:
        """The command that makes the run and writes its records."""
        told = {**self.setting.model_dump(mode="json", exclude_defaults=True), "seed": self.seed}
        if self.typed:
            told["asked"] = [self.typed.model_dump(mode="json", exclude_defaults=True)]
        text = shlex.quote(json.dumps(told, ensure_ascii=False))
        return f"python -m engine attribute --run {text} --out records.csv"

    @property
    def digest(self) -> str:
        return job_digest(language_run.KIND, json.loads(json.dumps(self.payload)))

    @property
    def title(self) -> str:
        about = "a prompt of your own" if self.typed else "its own queries"
        return f"{TASKS[self.task].title} · {catalogue.model_title(self.model)} · {about}"


def _setting(model: str, task: Mapping[str, Any], recipe: Mapping[str, Any]) -> Setting:
    return Setting.parse({"model": model, "task": dict(task), "recipe": dict(recipe),
                          "projection": {"dimension": 2048 if len(recipe) > 1 else 4096}})


def seconds(asked: Asked) -> float:
    """Guessed seconds on two cores."""
    payload = json.loads(json.dumps(asked.payload))
    factor = 0.8 if asked.records < 1_000 else 2.0
    return factor * sum(language_run.weight(payload, key) for key in language_run.plan(payload))


def job(asked: Asked) -> Job | None:
    return desk().jobs.queue.get(asked.digest)


def result(asked: Asked) -> Result | None:
    """Its finished run; None where there is none."""
    return Store(home()).read(asked.digest) if Store(home()).has(asked.digest) else None


def start(asked: Asked) -> None:
    """Queue the run, or take it up where it stopped. Raises one sentence for a model or task that cannot be had."""
    models.find(asked.model)
    desk().jobs.take_up(language_run.KIND, asked.payload, asked.title)


def shading(asked: Asked, row: int) -> Job | None:
    """The job that takes one record's scores apart, if it was asked for."""
    return desk().jobs.queue.get(_shading_digest(asked, row))


def shade(asked: Asked, row: int) -> None:
    """Queue that job, or take it up where it stopped."""
    desk().jobs.take_up(language_run.TOKENS, language_run.tokens_payload(asked.payload, row),
                        f"Tokens of record {row} · {asked.title}")


def more_tokens(asked: Asked, row: int) -> pd.DataFrame:
    """The contributions that this job found; empty where it was not asked for."""
    digest = _shading_digest(asked, row)
    return tables(str(home()), digest)["tokens"] if Store(home()).has(digest) else pd.DataFrame()


def _shading_digest(asked: Asked, row: int) -> str:
    return job_digest(language_run.TOKENS, json.loads(json.dumps(language_run.tokens_payload(asked.payload, row))))


@st.cache_data(show_spinner=False, max_entries=16)
def tables(root: str, digest: str) -> dict[str, pd.DataFrame]:
    """Every table of a run."""
    found = Store(root).read(digest)
    return {name: found.table(name) for name in found.tables}


def keep_file(content: bytes) -> str:
    """Check an uploaded JSONL and keep it; returns where. Raises `InvalidInput`."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidInput("The file is not UTF-8 text; save it as JSONL in UTF-8.") from None
    parse_lines(text.splitlines())
    path = home() / "uploads" / f"records-{hashlib.sha256(content).hexdigest()[:24]}.jsonl"
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(path, content)
    return str(path)


def kept_file(name: str) -> str:
    """The path of a kept file by its name, for an address. Raises `InvalidInput` if it is not there."""
    if name != name.strip("./\\") or "/" in name or "\\" in name or not (home() / "uploads" / name).is_file():
        raise InvalidInput("the uploaded file is not on this machine; upload it again.")
    return str(home() / "uploads" / name)


def typed(prompt: str, response: str, answer: str, words: str) -> Record:
    """A record out of what was typed. answer: the letter to explain; words: a part of the response to explain.

    Raises `InvalidInput` where the letter or the words do not stand in the response.
    """
    spans: dict[str, tuple[int, int]] = {}
    if answer:
        at = max(response.rfind(f" {answer}."), response.rfind(f" {answer}"))
        if at < 0:
            raise InvalidInput(f"The answer “{answer}” does not stand in the response after a space; write for example "
                               f"“The answer is {answer}.”")
        spans["answer"] = (at + 1, at + 1 + len(answer))
    if words.strip():
        at = response.find(words.strip())
        if at < 0:
            raise InvalidInput("The words to explain do not stand in the response; copy them from it.")
        spans["explanation"] = (at, at + len(words.strip()))
    letters = tuple(letter for letter in "ABCDE" if f"\n{letter}:" in f"\n{prompt}")
    return Record.parse({"id": "typed", "prompt": prompt, "response": response, "spans": spans,
                         "choices": letters if answer in letters else ("A", "B") if answer in ("A", "B") else ()})
