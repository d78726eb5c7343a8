"""The files for a server name only what there is: variables, options of Streamlit, extras, commands."""

import re
import tomllib
from pathlib import Path

import pytest
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


def test_the_secrets_are_all_that_a_provider_needs():
    [path] = [path for path in FILES if path.suffix == ".toml"]
    assert set(tomllib.loads(path.read_text("utf-8"))["auth"]) == {
        "redirect_uri", "cookie_secret", "client_id", "client_secret", "server_metadata_url"}
