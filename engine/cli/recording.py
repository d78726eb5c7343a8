"""`recording`: whether a recorded training can be made again bit for bit, and if not, from which step on and why."""

from __future__ import annotations

from engine.basics.errors import InvalidInput
from engine.cli.setting import Data, ProblemOptions


def recording(data: Data, setting: ProblemOptions = ProblemOptions()) -> None:
    """Check a recorded training (--trajectory FOLDER) by replaying it from the data."""
    from engine.cli.problem import Inputs
    from engine.cli.progress import progress
    from engine.exact.replay import training_of
    from engine.models.recorded.checking import check
    from engine.models.recorded.recipe import RecordedRecipe
    from engine.problems import ModuleProblem

    problem = Inputs(data, setting).problem
    if not isinstance(problem, ModuleProblem) or not isinstance(problem.recipe, RecordedRecipe):
        raise InvalidInput("There is no recorded training to check; give the folder that a `Recorder` wrote as "
                           "--trajectory, with the --model and --shape that it trained.")
    with progress("steps replayed") as move:
        print(check(training_of(problem, problem.seed), progress=move).sentence)
