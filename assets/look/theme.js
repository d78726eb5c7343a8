(() => {
  const place = `stActiveTheme-${location.pathname}-v2`, chosen = localStorage.getItem('wfTheme');
  if (chosen === 'Light' || chosen === 'Dark') localStorage.setItem(place, JSON.stringify(chosen));
})();
{ // what opens above a page is no child of the element that has its theme
  let app;
  const lend = () => { document.body.style.colorScheme = getComputedStyle(app).colorScheme };
  new MutationObserver((changes, watch) => {
    app = document.querySelector('.stApp');
    if (!app) return;
    watch.disconnect();
    lend();
    new MutationObserver(lend).observe(app, {attributeFilter: ['class']});
  }).observe(document, {childList: true, subtree: true});
}
