"""What our programs ask of the libraries below torch, unless the user has; a program that imports us is left alone."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ASKED = {"OMP_WAIT_POLICY": "passive", "ONEDNN_PRIMITIVE_CACHE_CAPACITY": "256", "NVIDIA_TF32_OVERRIDE": "0"}


@pytest.mark.parametrize("own", [{}, {"OMP_WAIT_POLICY": "active", "ONEDNN_PRIMITIVE_CACHE_CAPACITY": "1024",
                                      "NVIDIA_TF32_OVERRIDE": "1"}])
def test_it_is_asked_before_torch_is_there(own):
    environment = {name: value for name, value in os.environ.items() if name not in ASKED}
    code = ("import os, sys, engine.cli; assert 'torch' not in sys.modules; "
            f"from engine.basics.environment import settle; settle(); print(*map(os.environ.get, {list(ASKED)}))")
    said = subprocess.run([sys.executable, "-c", code], env=environment | own, capture_output=True, text=True,
                          check=True).stdout
    assert said.split() == list((ASKED | own).values())


@pytest.mark.parametrize("program", ["engine.worker", "app.main"])
def test_a_program_of_ours_asks_before_it_imports_torch(program):
    text = (ROOT / f"{program.replace('.', '/')}.py").read_text("utf-8")
    imports = [line for line in text.splitlines() if line.startswith(("from engine.", "from app."))]
    assert imports[0].startswith("from engine.basics import environment")
    assert text.index("environment.settle()") < text.index(imports[1])


def test_importing_the_library_changes_nothing():
    code = ("import os, sys, warnings; before = dict(os.environ), list(sys.path), list(warnings.filters); "
            "import whichfluence; print('torch' in sys.modules); whichfluence.compare; "
            "print((dict(os.environ), list(sys.path)) == before[:2], len({'streamlit', 'pages'} & set(sys.modules)))")
    said = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert said.split() == ["False", "True", "0"]
