"""A control of a lesson moves the marks of its chart, which stays; without motion where the reader wants none."""

import pytest

pytestmark = pytest.mark.e2e

CHART = ".st-key-wf-moving-learn-intervention svg.marks"
WATCH = """chart => { window.moved = new Set();
  chart.addEventListener('transitionrun', event => window.moved.add(event.target.closest('.mark-symbol') ?
    event.propertyName : ''));
  chart.marked = true; }"""
DOTS = "chart => [...chart.querySelectorAll('.mark-symbol path')].map(dot => dot.getAttribute('transform'))"


def test_the_dots_of_a_lesson_move_and_the_chart_stays(open_page, settle):
    page = open_page("/learn?step=3")
    page.get_by_role("button", name="Show the result").click()
    chart = page.locator(CHART).first
    chart.locator(".mark-symbol path").first.wait_for()
    settle(page)
    chart.evaluate(WATCH)
    for motion, key, alpha, moved in (("no-preference", "End", "0.1", ["transform"]), ("reduce", "Home", "0", [])):
        page.emulate_media(reduced_motion=motion)
        page.evaluate("() => window.moved.clear()")
        before = chart.evaluate(DOTS)
        page.locator(".st-key-choice-lesson-p input").first.focus()
        page.keyboard.press(key)
        page.wait_for_url(f"**lesson-p={alpha}**")
        page.wait_for_function(f"([name, before]) => String(({DOTS})(document.querySelector(name))) !== before",
                               arg=[CHART, ",".join(before)])
        settle(page)
        after = chart.evaluate(DOTS)
        assert chart.evaluate("chart => chart.marked"), "another chart stands there"
        assert len(after) == len(before) > 20 and sum(a != b for a, b in zip(after, before, strict=True)) > 10
        assert page.evaluate("() => [...window.moved]") == moved, motion
    assert page.console_errors == []
