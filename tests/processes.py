"""Processes of a test's own: forked from one that imported the engine and started no thread, since a fork of pytest's
own process would wait for locks that the threads of other tests' libraries held in it."""

import multiprocessing
import sys
from types import ModuleType

import pytest

FRESH = multiprocessing.get_context("forkserver")
FRESH.set_forkserver_preload(["pytest", "pyarrow.parquet", "engine.cli.program", "tests.engine.cli.commands",
                              "tests.engine.jobs.kinds"])


def start(target, *arguments):
    """A process that runs it, and not first the page that an AppTest left as pytest's `__main__`."""
    process = FRESH.Process(target=target, args=arguments, daemon=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "__main__", ModuleType("__main__"))
        process.start()
    return process
