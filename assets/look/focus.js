(() => {
  const area = element => element.closest('[data-testid="stMain"], [data-testid="stSidebarContent"]');
  const top = element => element.getBoundingClientRect().top + area(element).scrollTop;
  let path = [], height = 0;
  document.addEventListener('focusin', event => {
    path = [];
    for (let at = event.target; at && at !== document.body; at = at.parentElement) path.push(at);
    if (area(event.target)) height = top(event.target);
  });
  document.addEventListener('pointerdown', () => { path = [] }, true);
  const keep = () => { // where what had the focus is gone, what stands in its place has it, or what is left around it
    if (document.activeElement !== document.body || !path.length) return;
    if (path[0].isConnected) { // it was disabled for a moment, or is another control now
      path[0].focus({preventScroll: true});
      if (document.activeElement !== document.body) return;
    }
    const left = path.find(at => at.isConnected && area(at));
    const next = [...(left?.querySelectorAll('[data-testid="stElementContainer"]') || [])].find(
      each => each.checkVisibility() && each.offsetHeight && top(each) + each.offsetHeight > height);
    const taken = next && next.getBoundingClientRect().top < innerHeight ? next : left;
    if (!taken) return;
    taken.tabIndex = -1;
    taken.style.outline = 'none';
    taken.focus({preventScroll: true});
  };
  new MutationObserver((changes, watch) => {
    const app = document.querySelector('[data-testid="stApp"]');
    if (!app) return;
    watch.disconnect();
    new MutationObserver(() => app.dataset.testScriptState === 'notRunning'
      && [100, 700].forEach(wait => setTimeout(keep, wait)))  // what is stale goes after the run
      .observe(app, {attributeFilter: ['data-test-script-state']});
  }).observe(document, {childList: true, subtree: true});
  const BODY = '[data-testid="stPopoverBody"] :is(button, input, textarea, a[href]):not(:disabled)';
  document.addEventListener('keydown', event => { // what opens stands at the end of the page, far from its button
    if (['Enter', ' '].includes(event.key) && event.target.closest?.('[data-testid="stPopover"]'))
      setTimeout(() => document.querySelector(BODY)?.focus(), 300);
  });
})();
