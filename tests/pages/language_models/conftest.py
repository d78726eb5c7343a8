"""Studies and a run of a page, computed by a tiny model, and what the browser was sent for the review desk."""

import pytest

from app.widgets.jobs import review_screen
from engine.applications.language.fine_tuned import Setting
from engine.applications.language.review import RecordReview
from engine.applications.language.run import AttributionRequest
from engine.data import tasks as data_tasks
from engine.experiments import EXPERIMENTS, language, language_study, publish
from engine.experiments.language_study import LanguageStudy
from engine.jobs import run_job
from tests.engine import tiny
from tests.engine.conftest import questions, tiny_home
from tests.pages.language_models.small import RECIPE, TASKS


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """(home, model folder, results folder) in which a tiny model computed the studies."""
    with tiny_home(tmp_path_factory.mktemp("language-page")) as folder:
        model = str(folder / "tiny")
        for name in ("figure-5-2", "table-5-2", "table-a15", "table-a14"):
            study = EXPERIMENTS[name].study
            task = TASKS.get(study, TASKS["conditional_backdoor"])
            more = {"removals": [["TracIn", "Answer logit"], ["Oracle", "Harmful poison"]]} if (
                name == "table-a14") else {}
            layers = {} if more else {"layers": language.LAYERS}
            settings = language.settings(model, task, RECIPE, 64, **more, **layers)
            result = run_job(study, {"study": study, "preset": "small", "settings": settings, "seeds": [0, 1]})
            publish.publish(EXPERIMENTS[name], result, "small", folder / "results")
        yield folder / "home", model, folder / "results"


@pytest.fixture
def published(done, monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_RESULTS", str(done[2]))


@pytest.fixture(scope="module")
def own_home(tmp_path_factory):
    """(home, model folder) of the page's run."""
    folder = tmp_path_factory.mktemp("language-run")
    return folder / "home", str(tiny.save(folder / "tiny"))


@pytest.fixture
def ran(own_home, monkeypatch):
    """The page's run of the backdoor task, finished."""
    home, model = own_home
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(home))
    monkeypatch.setattr("engine.data.scienceqa.load", questions)
    monkeypatch.setattr(language_study, "setting_of", lambda name, task, recipe: Setting.parse(
        {"model": name, "task": TASKS.get(task["name"], task), "recipe": RECIPE, "projection": {"dimension": 64}}))
    wanted = LanguageStudy("conditional_backdoor", model, 80, 0)
    run_job(AttributionRequest.name, wanted.request.payload)
    return wanted


@pytest.fixture
def decisions(ran):
    """The review of the run's records, with nothing decided yet."""
    review = RecordReview(data_tasks.build(ran.setting.task))
    review.path.unlink(missing_ok=True)
    return review


@pytest.fixture
def screen(monkeypatch):
    """What the browser was sent last for the review desk."""
    sent = {}
    monkeypatch.setattr(review_screen, "_screen", lambda data, **_: sent.update(data, pages={}))
    monkeypatch.setattr(review_screen, "_pages", lambda data, **_: sent["pages"].update(data["pages"]))
    return sent
