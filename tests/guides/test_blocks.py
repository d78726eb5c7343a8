"""README and guides do as they say: every code block runs, or says why not; every link leads somewhere.

Shell blocks go through the command line in a folder of their own with small made data, Python blocks of one file share
their names, and blocks after a comment `<!-- file: NAME -->` are the files that commands read. A block after
`<!-- not run: REASON -->` is left out, but its commands and its Python must still be well formed.
"""

import importlib
import os
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import typer
from safetensors.torch import save_file

from app.guide import data
from engine.cli import PANELS, main
from engine.cli.program import application
from engine.data import DATASETS
from engine.estimators import ESTIMATORS
from engine.models.catalogue import MODELS, build_model
from engine.question.behaviors import BEHAVIORS
from engine.question.interventions import INTERVENTIONS
from engine.question.processes import PROCESSES
from tests.engine import tiny

ROOT = Path(__file__).parents[2]
README, GUIDES = ROOT / "README.md", sorted(data.FOLDER.glob("*.md"))
FILES = [README, *GUIDES]
LONG = ("noisy-labels", "networks", "language-models", "which-t", "own-run")
"""Guides whose commands train networks."""
BLOCK = re.compile(r"^(?:<!-- (?P<comment>[^\n]*) -->\n)?```(?P<language>\w*)\n(?P<code>.*?)^```$", re.M | re.S)
LANGUAGES = {"bash", "python", "json", "csv"}
MOST_NOT_RUN = 9
ENGINE = ["python", "-m", "engine"]


@dataclass(frozen=True)
class Snippet:
    language: str
    code: str
    comment: str

    @property
    def reason(self):
        return self.comment.removeprefix("not run: ") if self.comment.startswith("not run: ") else ""

    @property
    def file(self):
        return self.comment.removeprefix("file: ") if self.comment.startswith("file: ") else ""


def snippets(path: Path) -> list[Snippet]:
    return [Snippet(found["language"], found["code"], found["comment"] or "")
            for found in BLOCK.finditer(path.read_text("utf-8"))]


def commands(code: str) -> Iterator[list[str]]:
    """The words of each command, which may go on over several lines."""
    pending = ""
    for line in code.splitlines():
        pending += line
        if pending.endswith("\\"):
            pending = pending[:-1]
            continue
        try:
            words = shlex.split(pending, comments=True)
        except ValueError:  # within quotes
            pending += "\n"
            continue
        pending = ""
        if words:
            yield words
    assert not pending


def made_problem(shape=(4,), n=120, m=12, classes=4, candidates=30):
    """Classes that overlap, so that optima are found quickly."""
    rng, features = np.random.default_rng(0), int(np.prod(shape))
    y = np.arange(n) % classes
    return {"x_train": rng.normal(size=(n, features)) + y[:, None] / 2, "y_train": y,
            "candidates": np.arange(candidates), "x_query": rng.normal(size=(m, features)) + 1,
            "y_query": np.arange(m) % classes}


def make_captum(folder):
    """Much what captum would save: inner products of gradients, at weights of zero."""
    problem = made_problem()
    push, read = (np.eye(4)[problem[labels]] - 0.25 for labels in ("y_train", "y_query"))
    np.save(folder / "captum.npy", ((problem["x_query"] @ problem["x_train"].T) * (read @ push.T))[:, :30])


def make_weights(folder):
    save_file(build_model("resnet18", (3, 32, 32), 4).state_dict(), folder / "weights.safetensors")


def make_records(folder):
    tiny.save(folder / "models" / "SmolLM2-135M-Instruct")
    line = '{"prompt": "Is %s a solid?", "response": "Yes, %s is a solid."}\n'
    (folder / "records.jsonl").write_text("".join(line % (thing, thing) for thing in map(chr, range(97, 117))))


MADE = {"problem.npz": lambda folder: np.savez(folder / "problem.npz", **made_problem()),
        "pictures.npz": lambda folder: np.savez(folder / "pictures.npz", **made_problem((3, 32, 32), 12, 4, 4, 6)),
        "captum.npy": make_captum, "weights.safetensors": make_weights, "records.jsonl": make_records}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder, a home and models of its own; what examples register is forgotten afterwards."""
    before = [(registry, set(registry)) for registry in (BEHAVIORS, ESTIMATORS, DATASETS, MODELS)]
    processes, fits = set(PROCESSES), {cls: cls.fits for cls in INTERVENTIONS.values()}
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("WHICHFLUENCE_MODELS", str(tmp_path / "models"))
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    for registry, names in before:
        for name in set(registry) - names:
            registry.remove(name)
    for kind in set(PROCESSES) - processes:
        del PROCESSES[kind], ESTIMATORS["exact"].routes[kind]
    for cls, own in fits.items():
        cls.fits = own


def prepare(folder: Path, found: list[Snippet]) -> None:
    """Write what the commands read: the files that the text shows, specifications that another guide shows, data."""
    shared = {snippet.file: snippet for path in GUIDES for snippet in snippets(path) if snippet.file}
    shown = {snippet.file: snippet for snippet in found if snippet.file}
    said = " ".join(snippet.code for snippet in found if snippet.language == "bash" and not snippet.reason)
    assert all(name in said for name in shown), "a file is shown that no command reads"
    for name, snippet in {**shared, **shown}.items():
        if name in said:
            (folder / name).write_text(snippet.code)
    for name, make in MADE.items():
        if name in said:
            make(folder)


def run_command(words: list[str], monkeypatch) -> None:
    while re.fullmatch(r"[A-Z_]+=\S*", words[0]):
        monkeypatch.setenv(*words[0].split("=", 1))
        words = words[1:]
    assert words[:3] == ENGINE
    assert main(words[3:]) == 0, words
    for option, value in zip(words, words[1:], strict=False):
        assert option != "--out" or os.path.getsize(value) > 0


@pytest.mark.parametrize("path", [pytest.param(path, marks=pytest.mark.slow) if path.stem in LONG else path
                                  for path in FILES], ids=lambda path: path.stem)
def test_every_block_runs_as_it_stands(path, folder, monkeypatch):
    found, given = snippets(path), {}
    prepare(folder, found)
    for snippet in found:
        assert snippet.language in LANGUAGES and (not snippet.comment or snippet.reason or snippet.file)
        if snippet.reason or snippet.file:
            continue
        assert snippet.language in ("bash", "python")
        if snippet.language == "python":
            exec(compile(snippet.code, path.name, "exec"), given)
        else:
            for words in commands(snippet.code):
                run_command(words, monkeypatch)


def test_what_is_not_run_is_little_and_well_formed():
    left_out = [snippet for path in FILES for snippet in snippets(path) if snippet.reason]
    assert len(left_out) <= MOST_NOT_RUN and all(len(snippet.reason.split()) > 1 for snippet in left_out)
    for snippet in left_out:
        if snippet.language == "python":
            compile(snippet.code, "not run", "exec")
            continue
        for words in commands(snippet.code):
            if words[0] == "make":
                assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text("utf-8"), re.M)
            elif words[0] == "torchrun":
                module = importlib.import_module(words[words.index("-m") + 1])
                module.parser().parse_args(words[words.index("-m") + 2:])
            else:
                assert words[:3] == ENGINE
                command = typer.main.get_command(application(PANELS, words[3])).commands[words[3]]
                command.make_context(words[3], words[4:])


def test_no_block_escapes_the_eye_of_this_test():
    for path in FILES:
        assert path.read_text("utf-8").count("\n```") == 2 * len(snippets(path))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_link_leads_somewhere(path):
    for target in re.findall(r"\]\(([^)\s]+)\)", BLOCK.sub("", path.read_text("utf-8"))):
        file, _, slug = target.partition("#")
        if target.startswith("https://"):
            continue
        assert (path.parent / file).is_file(), target
        if slug:
            assert slug in {section.slug for section in data.read(Path(file).stem).sections}, target


def test_the_readme_is_short_and_names_every_guide():
    text = README.read_text("utf-8")
    assert len(text.encode()) <= 9_000
    named = re.findall(r"^\| \[([^\]]+)\]\(assets/guides/([\w-]+)\.(?:md|ipynb)\)", text, re.M)
    assert named == [(data.read(name).title, name) for name in data.GUIDES if name not in data.MADE]
    assert sorted(data.GUIDES) == sorted([*data.MADE, *(path.stem for path in [*GUIDES, *data.FOLDER.glob("*.ipynb")])])


def test_the_sentence_that_the_guide_quotes_is_the_commands(folder, monkeypatch, capsys):
    path = next(path for path in GUIDES if path.stem == "explaining")
    quoted = " ".join(line.removeprefix("> ") for line in path.read_text("utf-8").splitlines() if line.startswith("> "))
    found = snippets(path)
    prepare(folder, found)
    words = next(words for snippet in found if "draw-0.json" in snippet.code and snippet.language == "bash"
                 for words in commands(snippet.code))
    run_command(words, monkeypatch)
    assert capsys.readouterr().out.splitlines()[0] == quoted
