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
