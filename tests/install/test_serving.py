"""The files for a server name only what there is: variables, options of Streamlit, extras, commands."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml
from streamlit import config

from engine.cli import COMMANDS

ROOT = Path(__file__).parents[2]
FILES = sorted(path for path in (ROOT / "assets" / "install").iterdir() if path.is_file() and path.suffix != ".py")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_variables_options_and_commands_exist(path):
    text = path.read_text("utf-8")
    code = "\n".join(file.read_text("utf-8") for folder in ("engine", "app") for file in (ROOT / folder).rglob("*.py"))
    for variable in set(re.findall(r"WHICHFLUENCE_[A-Z_]+", text)):
        assert f'"{variable}"' in code, variable
    for option in set(re.findall(r"--((?:server|secrets|client|browser)\.\w+)", text)):
        assert option in config.get_config_options(), option
    for command in set(re.findall(r"bin/whichfluence (\w+)|\"whichfluence\", \"(\w+)\"", text)):
        assert set(command) & set(COMMANDS), command
    for extra in set(re.findall(r"/source\[(\w+)\]", text)):
        assert extra in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


def test_recipes_for_clusters_parse_and_start_the_worker_with_options_that_it_has():
    batch, sky = (ROOT / "assets" / "install" / f"whichfluence.{name}" for name in ("sbatch", "sky.yaml"))
    assert subprocess.run(["bash", "-n", str(batch)], check=False).returncode == 0
    task = yaml.safe_load(sky.read_text("utf-8"))
    assert {"resources", "setup", "run"} <= set(task) and task["num_nodes"] == 1
    worker = (ROOT / "engine" / "worker.py").read_text("utf-8")
    for line in re.findall(r"engine\.worker (.*) &", batch.read_text("utf-8") + task["run"]):
        assert all(f'"{option}"' in worker for option in re.findall(r"--[a-z-]+", line))


def test_the_secrets_are_all_that_a_provider_needs():
    [path] = [path for path in FILES if path.suffix == ".toml"]
    assert set(tomllib.loads(path.read_text("utf-8"))["auth"]) == {
        "redirect_uri", "cookie_secret", "client_id", "client_secret", "server_metadata_url"}
