"""`python -m engine.worker`: runs the jobs in the queue until it is told to stop."""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import sys
from collections.abc import Callable, Sequence

from engine.basics import environment

environment.settle()  # before torch is imported

from engine.basics import plugins  # noqa: E402
from engine.basics.errors import InvalidInput, StoreError, WhichfluenceError  # noqa: E402
from engine.basics.terminal import plain_output  # noqa: E402
from engine.jobs.each_gpu import EACH, gpus, serve_each  # noqa: E402
from engine.jobs.executor import Executor, LocalExecutor  # noqa: E402
from engine.jobs.loop import BEAT, Worker  # noqa: E402
from engine.jobs.ray_executor import RayExecutor  # noqa: E402
from engine.jobs.workers import Workers, new_worker_id  # noqa: E402

KINDS = (f"{__package__}.applications.kinds", f"{__package__}.experiments")


def _ray(options: argparse.Namespace) -> RayExecutor:
    """Connected before a job is claimed, so that none fails for want of a cluster."""
    executor = RayExecutor(options.address, options.cores, options.gpus)
    executor.connection  # noqa: B018
    return executor


EXECUTORS: dict[str, Callable[[argparse.Namespace], Executor]] = {"local": lambda options: LocalExecutor(), "ray": _ray}


def main(arguments: list[str] | None = None) -> int:
    """Serve the queue; 0 when told to leave, 2 with one sentence on stderr when it cannot work."""
    options = _options(arguments)
    if options.home:
        os.environ["WHICHFLUENCE_HOME"] = options.home
    name = options.id or new_worker_id()
    try:
        if options.device == EACH:
            return _each(options, sys.argv[1:] if arguments is None else arguments)
        load_kinds(options.kinds or KINDS)
        plugins.load()
        worker = Worker(name=name, beat=options.beat, dead_after=options.dead_after, options={"device": options.device},
                        executor=EXECUTORS[options.executor](options))
        _stop_on_signals(worker)
        _step_back()
        worker.serve(once=options.once, idle_exit=options.idle_exit)
    except WhichfluenceError as error:
        _say(error)
        _leave_note(name, str(error))
        return 2
    return 0


def _each(options: argparse.Namespace, arguments: Sequence[str]) -> int:
    if EXECUTORS[options.executor] is _ray:
        raise InvalidInput("`--device each` starts workers on this machine; `--gpus` sets the GPUs that "
                           "a chunk takes on a cluster.")
    return serve_each(arguments, gpus())


def _step_back() -> None:
    """Let the live pages of the same machine go first."""
    if hasattr(os, "nice"):
        os.nice(10)


def _stop_on_signals(worker: Worker) -> None:
    def stop(number: int, _: object) -> None:
        worker.stop()
        signal.signal(number, signal.SIG_DFL)  # a second signal ends it at once

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m engine.worker", description=__doc__.split(": ", 1)[1])
    parser.add_argument("--home", help="folder of queue and results (default: WHICHFLUENCE_HOME or user data)")
    parser.add_argument("--once", action="store_true", help="exit when the queue is empty")
    parser.add_argument("--idle-exit", type=float, metavar="SECONDS", help="exit after this time without a job")
    parser.add_argument("--device", default="auto", help="where to compute, such as cuda:1 (default: auto); "
                        f"`{EACH}` starts one worker for each GPU")
    parser.add_argument("--kinds", action="append", metavar="MODULE", help=f"module that registers job kinds "
                        f"(default: {', '.join(KINDS)}); may be repeated")
    parser.add_argument("--executor", choices=sorted(EXECUTORS), default="local", help="where chunks are computed: in "
                        "this process, or on a Ray cluster whose nodes all see the home folder (default: local)")
    parser.add_argument("--address", help="of the Ray cluster (default: RAY_ADDRESS, else this machine alone)")
    parser.add_argument("--cores", type=float, default=1.0, help="cores that a chunk takes on the cluster (default: 1)")
    parser.add_argument("--gpus", type=float, help="GPUs that a chunk takes on the cluster, such as 0.5 (default: by "
                        "the memory that it is expected to hold, and none if no node has a GPU)")
    parser.add_argument("--id", help=argparse.SUPPRESS)
    parser.add_argument("--beat", type=float, default=BEAT, help=argparse.SUPPRESS)
    parser.add_argument("--dead-after", type=float, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def load_kinds(modules: Sequence[str] = KINDS) -> None:
    """Import the modules that register job kinds. Raises `InvalidInput` for one that cannot be imported."""
    for module in modules:
        try:
            importlib.import_module(module)
        except WhichfluenceError:
            raise
        except Exception as error:
            raise InvalidInput(f"The worker cannot load the job kinds of `{module}` ({type(error).__name__}: {error}); "
                               "repair that module, or start the worker with another.") from error


def _say(error: WhichfluenceError) -> None:
    with plain_output():
        print(error, file=sys.stderr)


def _leave_note(name: str, sentence: str) -> None:
    try:
        Workers().fail(name, sentence)
    except StoreError as error:
        _say(error)


if __name__ == "__main__":
    sys.exit(main())
