"""What importing the engine asks of the libraries below torch, unless the user has."""

import os
import subprocess
import sys

import pytest

ASKED = {"OMP_WAIT_POLICY": "passive", "ONEDNN_PRIMITIVE_CACHE_CAPACITY": "256"}


@pytest.mark.parametrize("own", [{}, {"OMP_WAIT_POLICY": "active", "ONEDNN_PRIMITIVE_CACHE_CAPACITY": "1024"}])
def test_it_is_asked_before_torch_is_there(own):
    environment = {name: value for name, value in os.environ.items() if name not in ASKED}
    code = f"import engine, os, sys; assert 'torch' not in sys.modules; print(*map(os.environ.get, {list(ASKED)}))"
    said = subprocess.run([sys.executable, "-c", code], env=environment | own, capture_output=True, text=True,
                          check=True).stdout
    assert said.split() == list((ASKED | own).values())
