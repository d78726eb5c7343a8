"""A network in the browser: trained by a job of a real worker, then compared, and a score taken apart."""

import shutil

import pytest
import torch

from engine.models.recorded import Recorder
from engine.problems import ProblemSource

pytestmark = pytest.mark.e2e

PROBLEM = "data=digits&model=mlp&train=120&queries=24&seed=5"
STEPS = "s=query_loss/add_occurrence/one_step;eta%3D0.1&s=query_logit/add_occurrence/one_step;eta%3D0.1"


def test_a_network_is_chosen_trained_and_compared(open_page, settle, screenshot):
    page = open_page(f"/compare?data=digits&train=120&queries=24&seed=5&{STEPS}")
    page.locator(".st-key-choice-model input").fill("Two-layer")
    page.keyboard.press("Enter")
    page.wait_for_url("**model=mlp**")
    page.locator("strong:visible", has_text="Different question").first.wait_for(timeout=120_000)
    settle(page)
    assert "model=mlp" in page.url and "parameters=all" in page.url
    screenshot(page, "compare-network")
    assert page.console_errors == []


def test_how_it_is_trained_is_chosen_in_the_sidebar(open_page, settle, screenshot):
    page = open_page(f"/scorecard?{PROBLEM}")
    page.locator('[data-testid="stExpander"] summary', has_text="Training").first.click()
    settle(page)
    page.locator(".st-key-choice-fit-flip").scroll_into_view_if_needed()
    settle(page)  # an open list closes where the page scrolls or is drawn anew
    page.locator(".st-key-choice-fit-optimizer input").click()
    page.get_by_role("option", name="adamw").click()
    page.wait_for_url("**fit-optimizer=adamw**")
    page.get_by_text("50 epochs by AdamW", exact=False).first.wait_for()
    assert page.locator(".st-key-choice-fit-momentum input").is_disabled()
    page.locator(".st-key-choice-fit-flip label").first.click()
    page.wait_for_url("**fit-flip=1**")
    page.get_by_text("images mirrored at random", exact=False).first.wait_for()
    settle(page)
    screenshot(page, "scorecard-recipe")
    assert page.console_errors == []


@pytest.mark.slow
def test_a_score_is_taken_apart(open_page, settle, screenshot):
    page = open_page(f"/examples?{PROBLEM}&{STEPS}&query=2&example=7")
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("Why this score?").wait_for(timeout=120_000)
    for theme, (width, height) in (("light", (1440, 900)), ("dark", (390, 844))):
        page.emulate_media(color_scheme=theme)
        page.set_viewport_size({"width": width, "height": height})
        settle(page)
        assert dialog.locator('[data-testid="stVegaLiteChart"]').count() == 3
        assert "is the first-order value" in dialog.inner_text()
        screenshot(page, f"examples-parts-{theme}")


@pytest.mark.slow
def test_own_weights_are_taken_and_others_refused(open_page, settle, tmp_path):
    page = open_page(f"/compare?{PROBLEM}&{STEPS}")
    page.get_by_text("Use my own weights").click()
    uploader = page.locator('[data-testid="stFileUploader"]').filter(has_text="Checkpoint of this model")
    wrong, right = tmp_path / "wrong.pt", tmp_path / "right.pt"
    torch.save({"w": torch.zeros(2)}, wrong)
    torch.save(ProblemSource(model="mlp").build_module().state_dict(), right)
    uploader.locator('input[type="file"]').set_input_files(wrong)
    page.get_by_text("does not fit the model", exact=False).first.wait_for()
    uploader.locator('input[type="file"]').set_input_files(right)
    page.wait_for_url("**weights=own-**")
    settle(page)
    assert page.get_by_text("In use: own-", exact=False).count() == 1


@pytest.mark.slow
def test_a_recorded_training_is_taken_as_a_zip(open_page, settle, tmp_path, screenshot):
    page = open_page(f"/compare?{PROBLEM}&{STEPS}")
    page.get_by_text("Use my own weights").click()
    module = ProblemSource(model="mlp").build_module()
    with Recorder(tmp_path / "run", module, torch.optim.SGD(module.parameters(), 0.1)):
        pass
    zipped = shutil.make_archive(str(tmp_path / "run"), "zip", tmp_path / "run")
    uploader = page.locator('[data-testid="stFileUploader"]').filter(has_text="Checkpoint of this model")
    uploader.locator('input[type="file"]').set_input_files(zipped)
    page.wait_for_url("**weights=run-**")
    settle(page)
    assert page.get_by_text("0 steps by SGD, with 0 checkpoints", exact=False).count() == 1
    screenshot(page, "recorded-training")
