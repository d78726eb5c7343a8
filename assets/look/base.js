(() => {
  const parts = location.pathname.split('/'), last = parts.findLastIndex(part => part);
  const base = PAGES.includes(parts[last]) ? parts.slice(0, last) : parts;
  const address = location.origin + base.filter(part => part).map(part => `/${part}`).join('') + '/';
  window.__streamlit = {...window.__streamlit, BACKEND_BASE_URL: address};
})();
