"""The program around the commands: it fails with a sentence, and is quick where it only explains."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from engine.cli import COMMANDS, PANELS, main
from engine.cli.program import application
from tests.engine.cli.commands import influence, one_line

ROOT = Path(__file__).parents[3]


def test_ctrl_c_leaves_no_file_and_says_so(folder, capsys, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("engine.scoring.compute.compute", interrupted)
    assert influence() == 130
    assert one_line(capsys).startswith("Interrupted")
    assert not list(folder.glob("*scores*"))


def test_an_unexpected_fault_is_one_sentence_unless_debugging(folder, capsys, monkeypatch):
    def broken(*_):
        raise RuntimeError("first line\nsecond line")

    monkeypatch.setattr("engine.scoring.compute.compute", broken)
    assert influence() == 1
    assert "RuntimeError: first line" in (text := one_line(capsys)) and "WHICHFLUENCE_DEBUG=1" in text
    monkeypatch.setenv("WHICHFLUENCE_DEBUG", "1")
    with pytest.raises(RuntimeError):
        influence()


@pytest.mark.parametrize(("arguments", "part"), [
    ([], "Missing command"),
    (["nonsense"], "nonsense"),
    (["influence"], "--data"),
    (["influence", "--nonsense"], "--nonsense"),
    (["influence", "--data", "p.npz", "--spec", "s.json", "--out", "o.npz", "--l2", "much"], "--l2"),
    (["compare", "--data", "p.npz"], "--specs"),
    (["reproduce"], "'name'"),
    (["reproduce", "table-a6", "--seeds", "0"], "--seeds"),
    (["reproduce", "table-a6", "--preset", "huge"], "preset"),
    (["reproduce", "table-a66"], "`table-a6`"),
    (["reproduce", "table-a6", "--device", "abacus"], "abacus"),
    (["reproduce", "table-a6", "--memory", "-1"], "--memory"),
    (["reproduce", "table-a6", "--model", "other"], "uses no language model; leave it out"),
    (["reproduce", "table-a6", "--out", "/dev/null/results"], "--out"),
    (["list", "more"], "more"),
])
def test_wrong_usage_is_one_sentence(arguments, part, capsys):
    assert main(arguments) == 2
    assert part in one_line(capsys)


def test_help_and_version_are_no_errors(capsys):
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(command in shown for command in ("influence", "compare", "reproduce", "list", "doctor"))
    assert main(["compare", "--help"]) == 0 and "--specs" in capsys.readouterr().out
    assert "extract-fashion" not in shown and shown.index("The paper") < shown.index("reproduce")
    assert main(["extract-fashion", "--help"]) == 0 and "FashionMNIST" in capsys.readouterr().out
    assert main(["--version"]) == 0 and capsys.readouterr().out.startswith("whichfluence ")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_every_word(command, capsys):
    """Markup would swallow what stands in square brackets."""
    declared = get_command(application(PANELS, command)).commands[command]
    assert main([command, "--help"]) == 0
    words = set(capsys.readouterr().out.replace("│", " ").split())
    for text in (declared.help, *(part.help for part in declared.params if part.help)):
        assert set(text.split()) <= words


def process(*arguments, cwd):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run([sys.executable, "-m", "engine", *arguments], cwd=cwd, env=environment, text=True,
                          capture_output=True, stdin=subprocess.DEVNULL, timeout=300)


@pytest.mark.slow
def test_as_a_process_it_writes_silently_or_refuses(folder):
    done = process("influence", "--data", "problem.npz", "--spec", "spec.json", "--out", "scores.npz", cwd=folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert {path.name for path in folder.iterdir()} == {"problem.npz", "scores.json", "scores.npz", "spec.json",
                                                         "specs.json"}
    refused = process("influence", "--data", "absent.npz", "--spec", "spec.json", "--out", "other.npz", cwd=folder)
    assert refused.returncode == 2 and refused.stdout == "" and refused.stderr.count("\n") == 1
    assert not list(folder.glob("*other*"))


def test_help_does_not_wait_for_torch(tmp_path):
    code = "import sys; from engine.cli import main; main(['--help']); sys.exit('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(ROOT)}, cwd=tmp_path,
                          capture_output=True, timeout=60)
    assert done.returncode == 0


def test_text_of_others_commands_no_terminal(tmp_path, capsys):
    (tmp_path / "own.csv").write_text("a,b,kind\n" + "1,2,\x1b[2Jred\u202e\n2,3,blue\x07\n" * 8)
    assert main(["preview-data", "--data", str(tmp_path / "own.csv")]) == 0
    shown = "".join(capsys.readouterr())
    assert shown and not set(shown) & set("\x1b\x07\u202e\x9b")
