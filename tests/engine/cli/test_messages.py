"""Sentences of the engine name things, as a page shows them too; only the command line names its own options."""

import ast
import re
from pathlib import Path

import pytest

import engine
from engine.cli.program import OPTIONS, advised

ROOT = Path(engine.__file__).parent
FLAG = re.compile(r"(?<![\w-])--[a-z]")
LINES = {"experiments/publish.py", "experiments/reproduction.py", "experiments/language_study.py",
         "desk/commands.py", "desk/noisy_labels.py", "jobs/workers.py", "jobs/each_gpu.py"}
"""They build command lines: texts that are nothing but a command, options and their values."""
WORDS = re.compile(r"(python -m engine [a-z-]+)?\s*--[a-z-]+ ?[\w.-]*")


def flags_in(source: str, command_lines: bool = False) -> list[str]:
    """The texts of a module that name an option, except where one is a word of a command line."""
    texts = [node.value for node in ast.walk(ast.parse(source))
             if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return [text for text in texts if FLAG.search(text) and not (command_lines and WORDS.fullmatch(text))]


def test_no_sentence_outside_the_command_line_names_an_option():
    modules = [path for path in ROOT.rglob("*.py") if path.parent.name != "cli" and path != ROOT / "worker.py"]
    assert len(modules) > 100
    found = {path.relative_to(ROOT).as_posix(): flags_in(path.read_text(encoding="utf-8"),
                                                         path.relative_to(ROOT).as_posix() in LINES)
             for path in modules}
    assert not {name: texts for name, texts in found.items() if texts}


def test_options_are_found_in_all_kinds_of_text():
    assert flags_in('raise ValueError("raise --l2 a bit")') and flags_in('f"{x}; use `--memory` {y}"')
    assert flags_in('["--seeds"]') and not flags_in('["--seeds", "a -- b"]', command_lines=True)
    assert flags_in('"give --seeds"', command_lines=True)


@pytest.mark.parametrize(("sentence", "options", "shown"), [
    ("The memory budget of 1.0 GiB is small; raise it.", ["--memory"],
     "The memory budget (--memory) of 1.0 GiB is small; raise it."),
    ("It diverged; raise l2 or scale x.", ["--l2", "--memory"], "It diverged; raise l2 (--l2) or scale x."),
    ("It diverged; raise l2 or scale x.", ["--memory"], "It diverged; raise l2 or scale x."),
    ("Try an l2 with --l2.", ["--l2"], "Try an l2 with --l2."),
])
def test_a_command_names_the_options_that_it_has(sentence, options, shown):
    assert advised(sentence, options) == shown


def test_what_is_named_still_occurs_in_the_engine():
    written = " ".join(path.read_text(encoding="utf-8") for path in ROOT.rglob("*.py") if path.parent.name != "cli")
    assert all(words in written for words in OPTIONS)
