"""Every public verb says what each argument is, and shows an example that runs."""

import doctest
import inspect
import re

import pytest

import whichfluence as wf
from engine.question.behaviors import BEHAVIORS

NAMES = sorted(set(wf.__all__) - {"__version__"})
VERBS = [name for name in NAMES if inspect.isfunction(getattr(wf, name))]
BUILT = ("Options", "Recorder", "Specification")
"""Classes that a user makes, beside the small values that a specification is made of."""
FINDER = doctest.DocTestFinder(exclude_empty=True)


@pytest.mark.parametrize("name", NAMES)
def test_what_docstrings_show_is_true(name):
    before, runner = set(BEHAVIORS), doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    try:
        for example in FINDER.find(getattr(wf, name), name, module=False, globs={}):
            runner.run(example)
    finally:
        for added in set(BEHAVIORS) - before:
            BEHAVIORS.remove(added)
    assert runner.summarize(verbose=False).failed == 0
    assert runner.tries > 1 or name not in (*VERBS, *BUILT, "Scores", "Agreement")


@pytest.mark.parametrize("name", [*VERBS, *BUILT])
def test_every_argument_is_explained(name):
    public = getattr(wf, name)
    arguments = inspect.getdoc(public).partition("Args:\n")[2].partition("\n\n")[0]
    said = {one for names in re.findall(r"^    (\w[\w, ]*):", arguments, re.M) for one in names.split(", ")}
    assert said == set(inspect.signature(public).parameters)
