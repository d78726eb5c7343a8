"""The keyboard alone: a walk by Tab over an open page, and keys on one control.

Within a group of buttons or of radios, arrow keys move; Tab reaches the group.
"""

DARK, MOST = 12, 400  # presses of Tab
WATCH = """() => {
  const stop = 'a[href], button, input, select, textarea, summary, [tabindex]';
  const shown = e => e.checkVisibility({visibilityProperty: true, opacityProperty: false})
    && e.getClientRects().length > 0 && !e.closest('[inert], [aria-hidden="true"]');
  const group = e => e.closest('[data-testid="stButtonGroup"]') || (e.type === 'radio' && 'radio ' + e.name) || null;
  window.__stops = () => [...document.querySelectorAll(stop)].filter(e => e.tabIndex >= 0 && !e.disabled && shown(e));
  window.__reached = new Set(); window.__unseen = [];
  const seen = e => { if (e.matches('canvas *')) return true;  // a table draws the ring of its cell itself
    for (let at = e, up = 0; at && up < 4; at = at.parentElement, up++) {
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


def walk(visit) -> tuple[list[str], list[str]]:
    """(what Tab does not reach, what shows no focus), by Tab in the dark and then over the whole page in the light.

    The page has settled in a theme before keys are pressed: what it draws anew for it counts as never reached. Where
    focus draws a control, as a code block's button, Tab goes on until it is there, for one more round at most.
    """
    page = visit.page
    page.evaluate(WATCH)
    visit.at("desk", "dark")
    _press(page, DARK)
    visit.at("desk", "light")
    count = min(MOST, page.evaluate("() => window.__stops().length"))
    _press(page, count)
    for _ in range(count + 20):
        if not _missed(page):
            break
        _press(page, 1)
    page.wait_for_timeout(50)
    return _missed(page), page.evaluate("() => window.__unseen")


def _press(page, times: int) -> None:
    for _ in range(times):
        page.keyboard.press("Tab")


def _missed(page) -> list[str]:
    return page.evaluate("() => window.__missed()")


def operate(page, control: str, keys: str, told: str) -> None:
    """Press keys on the first control that fits, until the address tells it."""
    page.locator(control).first.focus()
    for key in keys.split():
        page.keyboard.press(key)
    page.wait_for_url(lambda url: told in url)
