{
  const lift = () => document.getElementById('wf-veil')?.remove();
  document.addEventListener('animationend', event => {
    if (event.animationName === 'wf-veil' && event.target.matches('[data-testid="stMainBlockContainer"]')) lift();
  });
  document.addEventListener('click', lift, {capture: true, once: true});  // what follows an act shows as it comes
}
