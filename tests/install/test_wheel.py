"""What `pip install .` gives: a wheel in a fresh environment answers as the checkout does, under one package's name.

The big libraries are not installed again: the fresh environment finds those of this one behind its own.
"""

import ast
import importlib.util
import json
import os
import socket
import subprocess
import sys
import sysconfig
import time
import tomllib
import urllib.request
import venv
import zipfile
from contextlib import closing, suppress
from pathlib import Path

import numpy as np
import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
PARTS = ("engine", "app", "pages")
LARGEST = 14_000_000  # bytes of the wheel, of which 5 million are the three embedded language models
SPEC = {"behavior": "query_loss", "intervention": {"kind": "add_occurrence"},
        "process": {"kind": "one_step", "eta": 0.1}}

PAGES = """
import sys
from pathlib import Path
from streamlit.testing.v1 import AppTest
import whichfluence
entry = Path(whichfluence.__file__).parent / "app" / "main.py"
test = AppTest.from_file(str(entry), default_timeout=60).run()
assert not test.exception, test.exception
for page in ("paper", "learn", "library", "runs", "guide"):
    test.switch_page(f"../pages/{page}.py").run()
    assert not test.exception, (page, test.exception)
assert "whichfluence.engine.desk.desk" in sys.modules
print(sorted(name for name in sys.modules if name.partition(".")[0] in ("engine", "app", "pages")))
"""
WORK = """
import sys, time
from whichfluence.engine.jobs import JobQueue, ensure_worker
from whichfluence.engine.problems import ProblemSource
from whichfluence.engine.requests.scores import ScoresRequest
from whichfluence.engine.scoring.scoring import Scoring
source = ProblemSource(dataset="digits", n_train=60, n_test=12, n_queries=5, n_candidates=8, pool=2)
step = Scoring.of("query_loss", {"kind": "add_occurrence"}, {"kind": "one_step", "eta": 0.1})
queue = JobQueue()
job = queue.submit("scores", ScoresRequest(scorings=(step,), source=source).payload, "scores")
assert ensure_worker(idle_exit=0.0)
for _ in range(600):
    if not (now := queue.get(job.id)).active:
        break
    time.sleep(0.1)
print(now.state, now.error)
"""


def backend():
    """The module that pip calls to build; it stands outside of every package."""
    spec = importlib.util.spec_from_file_location("backend", ROOT / "assets" / "install" / "backend.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def declared():
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def pinned():
    """Name and version of each line of requirements.txt that is no test's."""
    lines = (ROOT / "requirements.txt").read_text("utf-8").split("# tests and checks")[0].splitlines()
    return dict(line.split("==") for line in lines if "==" in line)


def test_the_package_asks_for_what_it_is_tested_with():
    asked = {asked.name: asked.specifier for asked in map(Requirement, declared()["dependencies"])}
    assert set(asked) == set(pinned())
    for name, versions in asked.items():
        assert versions.contains(pinned()[name]), name
    assert asked["torch"].contains("2.11.0")  # what machines with a GPU may have


@pytest.mark.parametrize(("text", "installed"), [
    ("from engine import data", "from whichfluence.engine import data"),
    ("    from app.widgets import base", "    from whichfluence.app.widgets import base"),
    ("engine never imports app or pages", "engine never imports app or pages"),
    ("from engineering import x", "from engineering import x"),
    ("python -m engine list", "whichfluence list"),
    ("`python -m engine.worker`", "`python -m whichfluence.engine.worker`"),
    ('PROGRAM = "python -m engine"', 'PROGRAM = "whichfluence"'),
])
def test_names_are_those_of_the_package(text, installed):
    pytest.importorskip("setuptools", "77", reason="building needs setuptools")
    assert backend().renamed(text) == installed


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, built without a network; the checkout is left as it was."""
    pytest.importorskip("setuptools", "77", reason="building needs setuptools")
    folder = tmp_path_factory.mktemp("wheel")
    before = {path.name for path in ROOT.iterdir()}
    pip = subprocess.run([sys.executable, "-m", "pip", "wheel", "--no-index", "--no-build-isolation", "--no-deps",
                          "--wheel-dir", str(folder), str(ROOT)], capture_output=True, text=True)
    assert pip.returncode == 0, pip.stdout + pip.stderr
    assert {path.name for path in ROOT.iterdir()} == before
    [built] = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """The folder of the commands of a fresh environment with the wheel in it."""
    folder = tmp_path_factory.mktemp("fresh") / "venv"
    venv.create(folder, with_pip=False, symlinks=os.name == "posix")
    commands = folder / ("bin" if os.name == "posix" else "Scripts")
    [library] = folder.rglob("site-packages")
    (library / "behind.pth").write_text(sysconfig.get_path("purelib") + "\n")
    pip = subprocess.run([sys.executable, "-m", "pip", "--python", str(commands / "python"), "install", "--no-index",
                          "--no-deps", str(wheel)], capture_output=True, text=True)
    assert pip.returncode == 0, pip.stdout + pip.stderr
    return commands


def outside(tmp_path):
    """The surroundings of a program that knows nothing of the checkout."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return {"cwd": tmp_path, "env": {**kept, "WHICHFLUENCE_HOME": str(tmp_path / "home"), "OMP_NUM_THREADS": "1"},
            "text": True, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}


def said(commands, words, tmp_path):
    done = subprocess.run([str(commands / words[0]), *words[1:]], timeout=300, **outside(tmp_path))
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.slow
def test_the_wheel_holds_one_package_and_no_test(wheel):
    with zipfile.ZipFile(wheel) as opened:
        names = opened.namelist()
        tops = {name.split("/")[0] for name in names}
        assert tops == {"whichfluence", f"whichfluence-{declared()['version']}.dist-info"}
        assert wheel.stat().st_size < LARGEST and not any("/tests/" in name or ".pyc" in name for name in names)
        for name in names:
            if name.endswith(".py"):
                for node in ast.walk(ast.parse(opened.read(name))):
                    roots = [node.module] if isinstance(node, ast.ImportFrom) and not node.level else \
                        [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                    assert not {root.partition(".")[0] for root in roots} & set(PARTS), name
        for asset in ("guides/python.md", "embedded/world.json", "icon.svg", "paper/notes.md"):
            assert (ROOT / "assets" / asset).is_file() == (f"whichfluence/assets/{asset}" in names), asset


@pytest.mark.slow
def test_no_module_of_a_users_namespace_is_taken(installed, tmp_path):
    for part in PARTS:
        found = said(installed, ["python", "-c", f"import importlib.util as u; print(u.find_spec('{part}'))"], tmp_path)
        assert found == "None"


@pytest.mark.slow
def test_the_command_answers_as_the_checkout_does(installed, tmp_path):
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "problem.npz", x_train=rng.normal(size=(60, 4)), y_train=np.arange(60) % 3,
             x_query=rng.normal(size=(5, 4)), y_query=np.arange(5) % 3)
    (tmp_path / "spec.json").write_text(json.dumps(SPEC))
    words = ["influence", "--data", "problem.npz", "--spec", "spec.json", "--out"]
    said(installed, ["whichfluence", *words, "installed.npz"], tmp_path)
    here = {**outside(tmp_path)["env"], "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-m", "engine", *words, "checkout.npz"], cwd=tmp_path, env=here, check=True)
    with np.load(tmp_path / "installed.npz") as one, np.load(tmp_path / "checkout.npz") as other:
        assert all(np.array_equal(one[name], other[name]) for name in other.files)
    manifest = json.loads((tmp_path / "installed.json").read_text())
    assert "whichfluence influence" in json.dumps(manifest) and "python -m engine" not in json.dumps(manifest)
    assert said(installed, ["whichfluence", "--version"], tmp_path) == f"whichfluence {declared()['version']}"


@pytest.mark.slow
def test_its_pages_and_its_worker_run_under_its_own_name(installed, tmp_path):
    assert said(installed, ["python", "-c", PAGES], tmp_path).splitlines()[-1] == "[]"
    assert said(installed, ["python", "-c", WORK], tmp_path) == "done"


@pytest.mark.slow
def test_run_serves_with_the_settings_that_travel_with_it(installed, tmp_path):
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen([str(installed / "whichfluence"), "run", "--port", str(port), "--",
                               "--server.headless", "true"], **outside(tmp_path))
    try:
        answer = None
        for _ in range(300):
            with suppress(OSError):
                answer = urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=10)
                break
            time.sleep(0.2)
        assert answer is not None and "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        foreign = urllib.request.Request(f"http://127.0.0.1:{port}/", headers={"Host": "example.org"})
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(foreign, timeout=10)
    finally:
        server.terminate()
        server.communicate(timeout=30)
    assert server.returncode in (0, -15)  # the signal reached the server itself
