document.addEventListener('animationend', event => {
  if (event.animationName === 'wf-veil' && event.target.matches('[data-testid="stMainBlockContainer"]'))
    document.getElementById('wf-veil')?.remove();
});
