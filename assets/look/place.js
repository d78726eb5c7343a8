new MutationObserver((changes, watch) => {
  if (!document.querySelector('[data-testid="stSidebarNavLink"]')) return;
  document.getElementById('wf-place').remove();
  watch.disconnect();
}).observe(document, {childList: true, subtree: true});
