"""Tests of this folder run in one torch thread."""

from tests.engine.single_thread import one_thread  # noqa: F401
