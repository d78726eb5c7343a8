"""The keyboard alone: Tab reaches every control of every page, focus is seen, and keys do what clicks do.

Within a group of buttons or of radios, arrow keys move; Tab reaches the group.
"""

import pytest

from tests.e2e.test_accessibility import FIRST, SMALL

pytestmark = pytest.mark.e2e

OPERATED = {  # page: (address, control to operate, keys, what then holds in the address)
    "home": ("/", "button:has-text('Start a first comparison')", "Enter", "/compare"),
    "compare": (f"/compare?{SMALL}&{FIRST}", ".st-key-choice-metric button", "ArrowRight Enter", "metric=overlap"),
    "approximation_error": (f"/approximation_error?{SMALL}", ".st-key-choice-panel button", "ArrowRight Enter",
                            "panel=alpha"),
    "examples": (f"/examples?{SMALL}", ".st-key-query-3 button", "Enter", "query=3"),
    "noisy_labels": ("/noisy_labels", ".st-key-choice-noise input", "ArrowRight", "noise=0.25"),
    "language_models": ("/language_models", ".st-key-choice-task button", "ArrowRight Enter",
                        "task=conditional"),
    "learn": ("/learn?step=2", ".st-key-choice-step button[data-selected=true]", "ArrowRight Enter", "step=3"),
    "paper": ("/paper", ".st-key-choice-measure button", "ArrowRight Enter", "measure=Top"),
    "guide": ("/guide", ".st-key-wf-guide button:has-text('Next')", "Enter", "guide=explaining"),
    "runs": ("/runs", "[data-testid=stMain] summary", "Enter", ""),
}
MOST = 400  # presses of Tab
WATCH = """() => {
  const stop = 'a[href], button, input, select, textarea, summary, [tabindex]';
  const shown = e => e.checkVisibility({visibilityProperty: true, opacityProperty: false})
    && e.getClientRects().length > 0 && !e.closest('[inert], [aria-hidden="true"]');
  const group = e => e.closest('[data-testid="stButtonGroup"]') || (e.type === 'radio' && 'radio ' + e.name) || null;
  window.__stops = () => [...document.querySelectorAll(stop)].filter(e => e.tabIndex >= 0 && !e.disabled && shown(e));
  window.__reached = new Set(); window.__unseen = [];
  const seen = e => { for (let at = e, up = 0; at && up < 4; at = at.parentElement, up++) {
      const s = getComputedStyle(at);
      if (s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) > 0 || s.boxShadow !== 'none'
          || up && at.matches(':has(:focus-visible)') && s.borderColor !== s.backgroundColor && s.borderWidth !== '0px')
        return true }
    return e.parentElement && getComputedStyle(e.parentElement, '::before').outlineStyle !== 'none' };
  window.__name = e => [e.tagName, e.getAttribute('aria-label') || e.innerText?.trim().slice(0, 50) || e.type || '',
                        e.closest('[data-testid]')?.dataset.testid].join(' ');
  document.addEventListener('focusin', event => { const e = event.target;
    window.__reached.add(e); const g = group(e); if (g) window.__reached.add(g);
    setTimeout(() => { if (document.activeElement === e && e.tagName !== 'MAIN' && !seen(e))
      window.__unseen.push(window.__name(e)) }, 0) });
  window.__missed = () => window.__stops().filter(e => !window.__reached.has(e) && !window.__reached.has(group(e)))
    .map(window.__name);
  document.activeElement?.blur(); window.scrollTo(0, 0) }"""


@pytest.mark.serial
@pytest.mark.parametrize("name", OPERATED)
def test_the_keyboard_alone_reaches_and_operates(open_page, settle, shifts, name):
    where, control, keys, told = OPERATED[name]
    page = open_page(where)
    page.set_default_timeout(30_000)
    page.evaluate(WATCH)
    count = page.evaluate("() => window.__stops().length")
    for theme, presses in (("dark", 12), ("light", MOST)):
        page.emulate_media(color_scheme=theme)
        for _ in range(min(presses, count + 20)):
            page.keyboard.press("Tab")
    page.wait_for_timeout(50)
    assert not page.evaluate("() => window.__missed()")
    assert not page.evaluate("() => window.__unseen")
    before = shifts(page)[0]
    page.locator(control).first.focus()
    for key in keys.split():
        page.keyboard.press(key)
    page.wait_for_url(lambda url: told in url)
    settle(page)
    assert name == "home" or shifts(page)[0] - before <= 0.1, shifts(page)[1]
    assert page.console_errors == []
