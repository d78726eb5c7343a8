new MutationObserver((changes, watch) => {
  if (!document.querySelector('[data-testid="stSidebarNavLink"], .st-key-wf-projected')) return;
  document.getElementById('wf-place').remove();
  watch.disconnect();
}).observe(document, {childList: true, subtree: true});
