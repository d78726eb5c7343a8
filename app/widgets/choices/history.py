"""One step of the browser's history for one act of the reader, and a way back that undoes it.

Streamlit adds an entry for every parameter that a page writes into its address: a page that opens with ten defaults
leaves ten entries behind, a click some more. `SCRIPT` stands in the page before Streamlit's own code: an entry that no
act of the reader has called for takes the place of the one before it. When the reader goes back or forward, it marks
the address with `GONE`, so that what the address says is known to be meant, and not a late echo of what was replaced.
"""

from __future__ import annotations

GONE = "gone"

SCRIPT = """<script>
(() => {
  let acted = false;
  for (const act of ['pointerdown', 'keydown', 'input', 'change', 'drop'])
    window.addEventListener(act, event => { acted ||= event.isTrusted }, true);
  const push = history.pushState.bind(history);
  history.pushState = (...entry) => { acted ? push(...entry) : history.replaceState(...entry); acted = false; };
  window.addEventListener('popstate', () => {
    const address = new URL(location);
    if (address.hash) return;
    address.searchParams.set('GONE', '1');
    history.replaceState(history.state, '', address);
    acted = false;
  });
})();
</script>""".replace("GONE", GONE)
