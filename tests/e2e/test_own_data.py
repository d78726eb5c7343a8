"""The whole way with data and a model of one's own: a table with missing values on Noisy labels, conversations and
adapters on Language models."""

import io
import json

import numpy as np
import pandas as pd
import pytest
import torch
from peft import LoraConfig, get_peft_model

from engine import data
from engine.models.causal import catalogue, loading

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

MAIN = '[data-testid="stMain"]'
ROWS, WRONG = 150, 12


def main(page):
    return page.locator(MAIN)


def upload(page, path, settle):
    page.get_by_text("Use my own data").click()
    page.locator('[data-testid="stSidebar"] [data-testid="stFileUploader"] input[type="file"]').set_input_files(path)
    page.wait_for_url("**data=upload-*")
    settle(page)


@pytest.fixture
def table(tmp_path):
    """Two kinds of leaves; twelve carry the label of the other, and cells of every column but the label are missing."""
    rng = np.random.default_rng(0)
    kind = np.arange(ROWS) % 2
    frame = pd.DataFrame({"id": [f"leaf-{at}" for at in range(ROWS)], "length": rng.normal(size=ROWS) + 3 * kind,
                          "width": rng.normal(size=ROWS) - 3 * kind,
                          "colour": np.where(rng.random(ROWS) < 0.8, np.where(kind, "red", "green"), "brown"),
                          "kind": np.where(np.isin(np.arange(ROWS), range(WRONG)) ^ (kind == 1), "maple", "oak")})
    for column in ("length", "width", "colour"):
        frame.loc[rng.choice(ROWS, 15, replace=False), column] = None
    path = tmp_path / "leaves.csv"
    frame.to_csv(path, index=False)
    return frame, path


def test_a_table_with_missing_values_is_searched_reviewed_and_given_back(open_page, settle, screenshot, table):
    frame, path = table
    page = open_page("/noisy_labels")
    upload(page, path, settle)
    assert "Empty cells of" in main(page).inner_text() and "with the median" in main(page).inner_text()
    page.get_by_role("button", name="Find suspicious labels").click()
    page.locator(".wf-review-example").wait_for()
    settle(page)
    counted = page.get_by_role("button", name="Estimate how many are wrong")
    if counted.count():
        counted.click()
    main(page).get_by_text("Confident learning counts", exact=False).wait_for()
    settle(page)
    page.get_by_role("button", name="Run a trial on these data").click()
    page.get_by_text("What the trial measured", exact=False).wait_for()
    settle(page)
    assert "Recommended:" in main(page).inner_text()
    screenshot(page, "own-table")

    page.get_by_text("Verify a random sample (", exact=False).click()
    page.get_by_text("labels sampled at random from all 150", exact=False).wait_for()
    page.get_by_text("Verify a random sample (", exact=False).click()
    for _ in range(3):
        page.keyboard.press("w")
        page.wait_for_timeout(300)
    page.wait_for_function("document.querySelector('.wf-review-status')?.textContent.startsWith('Every')")
    settle(page)
    page.get_by_text("downloads and import").click()
    settle(page)
    with page.expect_download() as cleaned:
        main(page).get_by_role("button", name="Cleaned copy (CSV)").first.click()
    found = pd.read_csv(io.BytesIO(cleaned.value.path().read_bytes()))
    assert list(found.columns) == list(frame.columns) and ROWS - 3 <= len(found) <= ROWS
    beside = frame.set_index("id").loc[found["id"]]
    assert found["colour"].isna().sum() == beside["colour"].isna().sum() > 0
    assert (found["kind"].to_numpy() != beside["kind"].to_numpy()).sum() + ROWS - len(found) == 3

    page.get_by_text("What if", exact=True).click()
    settle(page)
    page.get_by_role("button", name="Retrain").click()
    page.get_by_text("Accuracy after").wait_for()
    settle(page)
    text = main(page).inner_text()
    assert "Accuracy before" in text and "held-out" in text.lower() and "95% interval" in text
    screenshot(page, "own-table-what-if")
    assert page.console_errors == []
    page.set_viewport_size({"width": 390, "height": 844})
    settle(page)
    assert page.evaluate("() => { const m = document.querySelector('[data-testid=stMain]'); "
                         "return m.scrollWidth - m.clientWidth }") <= 0


def conversations(path):
    """Twenty-four conversations of two turns, about the embedded model's world."""
    train, _ = data.load("world_corruption").records
    lines = [{"messages": [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Ask me."},
                           {"role": "user", "content": one.prompt}, {"role": "assistant", "content": one.response}]}
             for one in train[:24]]
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return path


def adapters(base, folder):
    """LoRA adapters as PEFT writes them, moved away from where they start."""
    torch.manual_seed(0)
    model = get_peft_model(loading.load(base)[0], LoraConfig(
        r=2, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
    with torch.no_grad():
        for parameter in filter(lambda one: one.requires_grad, model.parameters()):
            parameter.add_(0.01 * torch.randn_like(parameter))
    model.peft_config["default"].base_model_name_or_path = base
    model.save_pretrained(folder)
    return folder


def test_conversations_are_attributed_through_adapters_of_ones_own(open_page, settle, screenshot, tmp_path):
    folder = adapters(catalogue.EMBEDDED_MODEL, tmp_path / "mine")
    page = open_page(f"/language_models?show=records&task=own&model={folder}")
    main(page).locator('[data-testid="stFileUploader"] input[type="file"]').first.set_input_files(
        conversations(tmp_path / "talks.jsonl"))
    page.wait_for_url("**file=*")
    settle(page)
    text = main(page).inner_text()
    assert "Of these 24" in text and "This has not been computed yet" in text
    main(page).get_by_text("Training", exact=True).click()
    page.get_by_text("As it is, without any training here.", exact=False).wait_for()
    page.get_by_role("button", name="Start").click()
    page.get_by_text("training records,", exact=False).wait_for(timeout=600_000)
    settle(page)
    text = main(page).inner_text()
    assert "16 training records" in text and "0 steps" in text and "Records that teach it" in text
    assert page.locator(".wf-record").count() and page.console_errors == []
    screenshot(page, "own-adapters")
