"""A language model in the browser: from choosing texts to a first comparison, and the texts that matter most."""

import pytest

pytestmark = [pytest.mark.e2e, pytest.mark.slow]  # a language model is fine-tuned and every step on it is taken


def test_texts_are_chosen_compared_and_read(open_page, settle, screenshot):
    page = open_page("/compare")
    page.locator(".st-key-choice-data input").fill("Texts: World questions, some")
    page.keyboard.press("Enter")
    page.wait_for_url("**model=World-0.4M**")
    settle(page)
    page.get_by_role("button", name="Four answers to four questions").click()
    page.locator(".st-key-wf-heatmap").wait_for(timeout=300_000)
    settle(page)
    assert "response_loss" in page.url and page.get_by_text("150 training examples").count() >= 1
    screenshot(page, "compare-texts")
    page.get_by_role("link", name="Examples").click()
    page.locator(".wf-example .effect").first.wait_for(timeout=300_000)
    settle(page)
    assert page.locator("mark.answer").count() > 4 and page.get_by_text("lead of the answer").count() >= 1
    screenshot(page, "examples-texts")
    assert page.console_errors == []
