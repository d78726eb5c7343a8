"""Language models in a real browser: published heatmaps at once, a click that chooses, no complaint of the browser."""

import hashlib
import json

import pytest

from engine.data import world
from engine.data.tasks import wording
from engine.experiments import publish
from tests.e2e.visits import on

pytestmark = pytest.mark.e2e
PUBLISHED = publish.RESULTS / "figure-5-2" / "small" / publish.TABLE


def main(page):
    return page.locator('[data-testid="stMain"]')


@pytest.mark.core
@on("language_models")
def test_views_open_from_their_address_and_on_a_small_screen(visit, open_page, settle, screenshot):
    page = visit.page
    main(page).get_by_text("Response corruption", exact=True).click()
    settle(page)
    if PUBLISHED.is_file():
        assert page.locator('[data-testid="stVegaLiteChart"]').count() == 2
        assert "Best mean among the estimators" in main(page).inner_text()
    screenshot(page, "language-models")
    main(page).get_by_text("Conditional backdoor", exact=True).click()
    settle(page)
    assert "task=conditional_backdoor" in page.url
    main(page).get_by_text("Records", exact=True).click()
    settle(page)
    assert "show=records" in page.url and "This has not been computed yet" in main(page).inner_text()
    again = open_page(page.url.split("/", 3)[3])
    assert "Explain what the model does on" in main(again).inner_text()
    main(again).get_by_text("Query ablation", exact=True).click()
    again.set_viewport_size({"width": 390, "height": 844})
    again.emulate_media(color_scheme="dark")
    settle(again)
    assert "show=ablation" in again.url
    assert again.evaluate("() => document.documentElement.scrollWidth <= window.innerWidth + 1")
    screenshot(again, "language-models-phone")
    assert page.console_errors == [] and again.console_errors == []


def test_the_records_are_one_click_from_the_heatmap(open_page, settle):
    page = open_page("/language_models?estimator=tracin&behavior=answer_margin&task=conditional_backdoor")
    assert "±" in page.locator('[data-testid="stVegaLiteChart"]').first.inner_html()
    page.get_by_role("link", name="Read the records at the top of such a ranking").click()
    settle(page)
    assert "show=records" in page.url and "task=conditional_backdoor" in page.url
    assert "estimator=tracin" in page.url and "behavior=answer_margin" in page.url
    assert page.get_by_text("Training records", exact=True).count() == 1 and page.console_errors == []


def own_file(home):
    """Sixteen questions of the embedded world as the reader's own records, in the server's home."""
    lines = [wording.record(question).model_dump_json(exclude_defaults=True) for question in world.load(16)]
    content = "\n".join(lines).encode()
    path = home / "uploads" / f"records-{hashlib.sha256(content).hexdigest()[:24]}.jsonl"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    return path


@pytest.mark.slow
def test_a_wrong_response_is_rewritten_at_the_desk(open_page, settle, screenshot, home):
    file = own_file(home)
    page = open_page(f"/language_models?show=records&task=own&model=World-0.4M&file={file.name}")
    main(page).get_by_role("button", name="Start").click()
    page.locator(".wf-review-example").wait_for(timeout=240_000)
    settle(page)
    name = page.locator(".wf-review-name").inner_text()
    row = int(name.rsplit(" ", 1)[1])
    page.get_by_text("Correct the response").first.click()
    given = page.get_by_label("The right response").input_value()
    page.get_by_label("The right response").fill(f"{given} So it is.")
    screenshot(page, "language-models-correction")
    page.get_by_role("button", name="Replace the response").click()
    page.wait_for_function("document.querySelector('.wf-review-status')?.textContent.startsWith('Every')")
    settle(page)
    assert page.locator(".wf-review-name").inner_text() != name, "the next undecided record is on the screen"
    page.keyboard.press("ArrowLeft")
    assert "→ another response" in page.locator(".wf-review-mark").inner_text()
    page.reload()
    page.locator(".wf-review-example").wait_for()
    settle(page)
    page.get_by_text("Decisions (1) and cleaned records").click()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Cleaned records (JSONL)").click()
    left = [json.loads(line)["response"] for line in saved.value.path().read_text("utf-8").splitlines()]
    assert len(left) == 16 and left[row] == f"{given} So it is." and page.console_errors == []
