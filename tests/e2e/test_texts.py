"""A language model in the browser: from choosing texts to a first comparison, and the texts that matter most."""

import pytest

pytestmark = [pytest.mark.e2e, pytest.mark.slow]  # a language model is fine-tuned and every step on it is taken


def test_texts_are_chosen_compared_and_read(open_page, settle, screenshot):
    page = open_page("/compare")
    page.locator(".st-key-choice-data input").fill("Texts: World questions, some")
    page.keyboard.press("Enter")
    page.wait_for_url("**model=World-0.4M**")
    settle(page)
    page.locator(".wf-cell").first.wait_for(timeout=300_000)  # the first look's counterpart for texts
    settle(page)
    assert "response_loss" in page.url and page.get_by_text("150 training examples").count() >= 1
    screenshot(page, "compare-texts")
    page.get_by_role("link", name="Examples").click()
    page.locator(".wf-example .effect").first.wait_for(timeout=300_000)
    settle(page)
    assert page.locator("mark.answer").count() > 4 and page.get_by_text("lead of the answer").count() >= 1
    screenshot(page, "examples-texts")
    assert page.console_errors == []


def test_words_are_marked_by_clicking_the_first_and_the_last(open_page, settle, screenshot):
    page = open_page("/compare?data=world_corruption&train=24&queries=8&s=bm25&s=random")
    page.get_by_text("Add a specification").click()
    page.locator(".st-key-add-B input").first.fill("span of")
    page.keyboard.press("Enter")
    words = page.locator("[class*='st-key-add-span-marks'] button")
    words.first.wait_for()
    for word in ("The", "is"):
        words.get_by_text(word, exact=True).last.click()
        settle(page)
    assert page.get_by_label("Marked words", exact=True).input_value() == "The answer is"
    assert page.get_by_text("the log-likelihood of “The answer is” in the response").count() == 1
    screenshot(page, "span-marked")
    page.get_by_role("button", name="Add to the comparison").click()
    page.locator("strong:visible", has_text="No question to compare").first.wait_for(timeout=300_000)
    settle(page)
    assert "span%3AThe" in page.url and page.console_errors == []
