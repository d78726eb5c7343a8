"""What holds for every test: a home of its own, few threads, and no deadline for a busy machine."""

import gc
import os
import shutil
import tempfile
from collections import Counter, defaultdict
from functools import cache
from itertools import combinations

import pytest
from hypothesis import settings

os.environ["OMP_WAIT_POLICY"] = "passive"
if "PYTEST_XDIST_WORKER" in os.environ:  # processes side by side; read when torch and BLAS are first loaded
    for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[variable] = "1"

gc.disable()  # until all tests are collected: what imports and items make stays

settings.register_profile("whichfluence", deadline=None)
settings.load_profile("whichfluence")


def pytest_configure(config: pytest.Config) -> None:
    config.whichfluence_home = tempfile.mkdtemp(prefix="whichfluence-tests-")
    os.environ["WHICHFLUENCE_HOME"] = config.whichfluence_home  # never the user's own


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that take long go first, so that processes side by side end at about the same time: those with a slow test,
    then those of many tests."""
    long = {item.path for item in items if item.get_closest_marker("slow")}
    tests = Counter(item.path for item in items)
    items.sort(key=lambda item: (item.path not in long, -tests[item.path], item.path))
    grids = defaultdict(list)
    for item in items:
        if (grid := item.get_closest_marker("grid")) is not None:
            grids[item.path, item.originalname, *grid.args].append(item)
    for (_, _, *strength), cases in grids.items():
        _thin(cases, *strength)


def _thin(cases: list[pytest.Item], strength: int = 1) -> None:
    """Leave to the quick tests so many cases that all combinations of `strength` parameters' values occur, and mark the
    others slow."""
    combinations_of = {case: set(combinations(enumerate(case.callspec._idlist), strength)) for case in cases}
    unseen = set().union(*combinations_of.values())
    while unseen:
        best = max(cases, key=lambda case: len(combinations_of[case] & unseen))
        unseen -= combinations_of.pop(best)
        cases.remove(best)
    for case in cases:
        case.add_marker(pytest.mark.slow)


def pytest_collection_finish() -> None:
    """What is there now is never looked through again for what could be freed: it is most of all objects."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    gc.enable()


def pytest_unconfigure(config: pytest.Config) -> None:
    gc.unfreeze()  # libraries count what is left of theirs at the end
    shutil.rmtree(getattr(config, "whichfluence_home", ""), ignore_errors=True)


@pytest.fixture(scope="session")
def installed_components():
    """What Streamlit finds among the installed packages, looked for once: each `AppTest` reads the metadata of every
    package anew, which takes longer than the page that it opens."""
    from streamlit.components.v2 import manifest_scanner

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", cache(manifest_scanner.scan_component_manifests))
        yield
