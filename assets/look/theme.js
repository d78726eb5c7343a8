(() => {
  const place = `stActiveTheme-${location.pathname}-v2`, chosen = localStorage.getItem('wfTheme');
  if (chosen === 'Light' || chosen === 'Dark') localStorage.setItem(place, JSON.stringify(chosen));
})();
