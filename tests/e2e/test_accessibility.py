"""axe-core finds no serious fault, and the keyboard alone reaches what a page offers."""

from pathlib import Path

import pytest

pytestmark = pytest.mark.e2e

RULES = {"runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]},
         "resultTypes": ["violations"]}
SMALL = "data=digits&train=100&queries=20&candidates=10&seed=0&nseeds=1"
FIRST = "s=query_loss%2Fadd_occurrence%2Fone_step%3Beta%3D0.1&s=query_loss%2Fremove%2Freoptimize&pair=1-2"
ROOT = Path(__file__).parents[2]
DETAILED = {"home": "/", "compare": f"/compare?{SMALL}&{FIRST}&explain=1",
            "approximation_error": f"/approximation_error?{SMALL}", "examples": f"/examples?{SMALL}"}
VIEWS = {**{path.stem: f"/{path.stem}" for path in sorted((ROOT / "pages").glob("*.py"))}, **DETAILED,
         "learn-play": "/learn?step=play", "guide-recipes": "/guide?guide=other-libraries",
         "guide-found": "/guide?find=npz"}


@pytest.mark.parametrize("view", VIEWS)
def test_axe_finds_nothing_serious(open_page, settle, view):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is missing").Axe
    page, grounds = open_page(VIEWS[view]), []
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        settle(page)
        grounds.append(page.evaluate("() => getComputedStyle(document.querySelector('[data-testid=stApp]'))"
                                     ".backgroundColor"))
        found = axe().run(page, options=RULES).response["violations"]
        serious = [(fault["id"], [(node["html"][:160], node["target"]) for node in fault["nodes"][:3]])
                   for fault in found if fault["impact"] in ("serious", "critical")]
        assert not serious, (theme, serious)
    assert grounds[0] != grounds[1]


def test_the_keyboard_reaches_every_step_and_answers(open_page, settle):
    page = open_page("/learn")
    reached = {}
    for _ in range(40):
        page.keyboard.press("Tab")
        name, visible = page.evaluate(
            "() => { const e = document.activeElement, s = getComputedStyle(e); return ["
            "e.tagName + ' ' + (e.innerText || e.getAttribute('aria-label') || '').trim().slice(0, 60), "
            "s.outlineStyle !== 'none' || s.boxShadow !== 'none'] }")
        reached[name] = visible
    for words in ("Compare", "counterfactual", "Show data", "Table, downloads", "See all its", "Next", "Glossary"):
        assert any(words in name for name in reached), (words, list(reached))
    unseen = [name for name, visible in reached.items() if not visible and not name.startswith(("MAIN", "BODY"))]
    assert not unseen, unseen


def test_a_word_explains_itself_to_the_keyboard(open_page):
    page = open_page("/learn")
    word = page.locator(".wf-term").first
    word.focus()
    shown = word.evaluate("word => getComputedStyle(word, '::after').content")
    assert word.get_attribute("data-line") in shown and word.get_attribute("aria-label")
