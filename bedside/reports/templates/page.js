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

{# Whatever hides an element is opened: folded parts, and the rows of a table that stand back. -#}
function unfold(element) {
  for (let closed; (closed = element.closest('details:not([open])'));) closed.open = true;
  if (element.closest('.rest')) element.closest('figure').querySelector('.rows input').checked = true;
}

function reveal() {
  const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  const part = target.querySelector(':scope > details');
  if (part) part.open = true;
  unfold(target);
  target.scrollIntoView();
}
window.addEventListener('hashchange', reveal);
reveal();

// What has nothing to scroll is no stop of the tabulator key.
const scrolled = [...document.querySelectorAll('.scroll')];
function stops() {
  const wide = scrolled.map(function (region) { return region.scrollWidth > region.clientWidth; });
  scrolled.forEach(function (region, place) {
    if (wide[place]) region.tabIndex = 0; else region.removeAttribute('tabindex');
  });
}
window.addEventListener('resize', stops);
stops();

const BLOCKS = 'td, th, li, p, caption, figcaption, h1, h2, h3, dt, dd, summary, text';
const NO_WORDS = 'nav, form, button, textarea, script, style, defs, metadata';
const form = document.querySelector('form.search');
const input = document.getElementById('words');
let hits = [];
let place = 0;
let waiting = 0;

{# A cell, a paragraph or a label is one text, whatever is set in bold or raised in it. -#}
function texts() {
  const blocks = new Map();
  const hidden = scrolled.filter(function (region) { return getComputedStyle(region).display === 'none'; });
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const block = node.parentElement.closest(BLOCKS);
    if (!block || node.parentElement.closest(NO_WORDS) || hidden.includes(node.parentElement.closest('.scroll'))) continue;
    if (!blocks.has(block)) blocks.set(block, []);
    blocks.get(block).push(node);
  }
  return blocks;
}

function ranges(words) {
  const parts = words.split(/\s+/).map(function (word) { return word.replace(/[\\^$.*+?()[\]{}|\/]/g, '\\$&'); });
  const pattern = new RegExp(parts.join('\\s+'), 'giu');
  const all = [];
  for (const nodes of texts().values()) {
    const text = nodes.map(function (node) { return node.data; }).join('');
    for (const match of text.matchAll(pattern)) {
      const range = document.createRange();
      let start = 0;
      for (const node of nodes) {
        const end = start + node.data.length;
        const first = match.index, last = first + match[0].length;
        if (first >= start && first < end) range.setStart(node, first - start);
        if (last > start && last <= end) { range.setEnd(node, last - start); break; }
        start = end;
      }
      all.push(range);
    }
  }
  return all;
}

function show() {
  document.querySelectorAll('.hit').forEach(function (element) { element.classList.remove('hit'); });
  const count = hits.length === 1 ? '1 hit' : hits.length.toLocaleString('en') + ' hits';
  const sought = input.value.trim().length > 1;
  document.getElementById('hits').textContent =
    !sought ? '' : hits.length ? (place + 1).toLocaleString('en') + ' of ' + count : 'No hits';
  form.classList.toggle('searching', sought);
  const range = hits[place];
  if (window.Highlight) {
    CSS.highlights.set('hits', new Highlight(...hits));
    CSS.highlights.set('hit', new Highlight(...(range ? [range] : [])));
    CSS.highlights.get('hit').priority = 1;
  }
  if (!range) return;
  const element = range.startContainer.parentElement;
  unfold(element);
  element.closest(BLOCKS).classList.add('hit');
  element.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  window.scrollBy(0, range.getBoundingClientRect().top - window.innerHeight / 2);
}

function search() {
  clearTimeout(waiting);
  waiting = 0;
  const words = input.value.trim();
  hits = words.length > 1 ? ranges(words) : [];
  place = 0;
  show();
}

function step(by) {
  if (waiting) { search(); return; }
  if (!hits.length) return;
  place = (place + by + hits.length) % hits.length;
  show();
}

form.hidden = false;
input.addEventListener('input', function () { clearTimeout(waiting); waiting = setTimeout(search, 200); });
input.addEventListener('keydown', function (event) {
  if (event.key === 'Enter' && event.shiftKey) { event.preventDefault(); step(-1); }
  if (event.key === 'Escape') { input.value = ''; search(); }
});
form.addEventListener('submit', function (event) { event.preventDefault(); step(1); });
document.getElementById('previous').addEventListener('click', function () { step(-1); });

{# On paper what is folded shows nothing: parts are unfolded first, and transcripts where they are asked for. -#}
let unfolded = [];
window.addEventListener('beforeprint', function () {
  const wanted = document.getElementById('with-transcripts');
  const all = Boolean(wanted && wanted.checked);
  document.body.classList.toggle('with-transcripts', all);
  const folded = [...document.querySelectorAll('section details:not([open])')];
  unfolded = folded.filter(function (part) { return all || !part.matches('.transcript'); });
  unfolded.forEach(function (part) { part.open = true; });
});
window.addEventListener('afterprint', function () {
  unfolded.forEach(function (part) { part.open = false; });
});
