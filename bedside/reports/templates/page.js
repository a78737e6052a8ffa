{# Works from the file system: the clipboard of a page that isn't served needs the selection way. -#}
document.addEventListener('click', async function (event) {
  const button = event.target.closest('button.copy');
  if (!button) return;
  const source = document.getElementById(button.dataset.source);
  const label = button.textContent;
  let done = false;
  try { await navigator.clipboard.writeText(source.value); done = true; } catch (refused) {
    source.hidden = false; source.select(); done = document.execCommand('copy'); source.hidden = true;
  }
  button.textContent = done ? 'Copied' : 'Could not copy';
  setTimeout(function () { button.textContent = label; }, 1500);
});
function reveal() {
  const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const closed = target && target.closest('details:not([open])');
  if (closed) { closed.open = true; target.scrollIntoView(); }
}
window.addEventListener('hashchange', reveal);
reveal();
