export default function({parentElement}) {
  const button = parentElement.querySelector('button'), scheme = getComputedStyle(document.querySelector('.stApp'));
  const dark = () => scheme.colorScheme.includes('dark');
  const tell = () => { button.textContent = dark() ? '☀ Light' : '☾ Dark';
    button.setAttribute('aria-label', dark() ? 'Use the light theme' : 'Use the dark theme') };
  button.onclick = () => { localStorage.setItem('wfTheme', dark() ? 'Light' : 'Dark'); location.reload() };
  tell();
}
