const all = (selector, within = document) => [...within.querySelectorAll(selector)];

/** An element of text; nothing here is ever parsed as HTML. */
function element(name, text, attributes = {}) {
  const made = document.createElement(name);
  made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

// The address of the API is where this page is, without `/docs`.
const base = new URL('.', location.href).href.replace(/\/$/, '');
for (const place of all('[data-fill=address]')) place.textContent = base;

// The token: kept for this tab only, and never sent but by "Send".
const tokenForm = document.querySelector('.token');
const tokenInput = document.querySelector('#token');
const tokenKey = 'posthorn-reference-token';
const tokenPlaces = all('[data-fill=token]').map((place) => ({ place, variable: place.textContent }));

function fillToken() {
  const token = tokenInput.value.trim();
  // Only what cannot mean anything to a shell gets into a line that is made to be pasted.
  const usable = /^[A-Za-z0-9._~+/=-]*$/.test(token);
  document.querySelector('#token-fault').textContent = usable ? '' : 'This is not a bearer token.';
  for (const { place, variable } of tokenPlaces)
    place.textContent = usable && token !== '' ? token : variable;
  try {
    if (usable) sessionStorage.setItem(tokenKey, token);
  } catch {
    // Storage may be forbidden; then the token lives as long as the page.
  }
}

try {
  tokenInput.value = sessionStorage.getItem(tokenKey) ?? '';
} catch {
  tokenInput.value = '';
}
tokenInput.addEventListener('input', fillToken);
tokenForm.addEventListener('submit', (event) => event.preventDefault());
tokenForm.hidden = false;
fillToken();

// Copying.
async function copy(code) {
  try {
    await navigator.clipboard.writeText(code.textContent);
  } catch {
    // Browsers give the clipboard only to https and loopback; elsewhere the old way still works.
    getSelection().selectAllChildren(code);
    document.execCommand('copy');
    getSelection().removeAllRanges();
  }
}

function addCopyButton(figure) {
  const button = element('button', 'Copy', { type: 'button', 'aria-live': 'polite' });
  button.addEventListener('click', async () => {
    await copy(figure.querySelector('code'));
    button.textContent = 'Copied';
    setTimeout(() => {
      button.textContent = 'Copy';
    }, 1500);
  });
  figure.querySelector('figcaption').append(button);
}
all('.code').forEach(addCopyButton);

// The filter of the navigation.
const menu = document.querySelector('#menu');
const filter = menu.querySelector('.filter');
const filterInput = filter.querySelector('input');
const groups = all('.group', menu).map((group) => ({ group, items: all('li', group), open: group.open }));

function applyFilter() {
  const words = filterInput.value.toLowerCase().split(/\s+/).filter(Boolean);
  let found = 0;
  for (const { group, items, open } of groups) {
    for (const item of items) item.hidden = !words.every((word) => item.dataset.words.includes(word));
    const shown = items.filter((item) => !item.hidden).length;
    group.hidden = shown === 0;
    group.open = words.length > 0 || open;
    found += shown;
  }
  menu.querySelector('.none').textContent = found === 0 ? 'Nothing matches.' : '';
}

filterInput.addEventListener('input', applyFilter);
filterInput.addEventListener('keydown', (event) => {
  if (event.key === 'Enter') menu.querySelector('li:not([hidden]) a')?.click();
});
filter.hidden = false;
addEventListener('keydown', (event) => {
  const typing = event.target.closest?.('input, select, textarea');
  if (event.key !== '/' || typing || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  filterInput.focus();
});
menu.addEventListener('click', (event) => {
  if (event.target.closest('a') && menu.matches(':popover-open')) menu.hidePopover();
});

// A link to something that is folded away unfolds it.
function unfoldTarget() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const folded =
    target?.querySelector(':scope > details:not([open])') ?? target?.closest('details:not([open])');
  if (!folded) return;
  folded.open = true;
  target.scrollIntoView();
}
addEventListener('hashchange', unfoldTarget);
unfoldTarget();

// The navigation shows where the reader is.
const links = new Map(all('a', menu).map((link) => [link.hash.slice(1), link]));
const visible = new Set();
const observer = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) visible.add(target);
      else visible.delete(target);
    }
    const here = all('.introduction, .guide, .operation, #received, #errors').find((one) => visible.has(one));
    if (!here) return;
    for (const link of links.values()) link.removeAttribute('aria-current');
    links.get(here.id || 'top')?.setAttribute('aria-current', 'location');
  },
  { rootMargin: '-96px 0px -60% 0px' },
);
for (const one of all('.introduction, .guide, .operation, #received, #errors')) observer.observe(one);

// Everything is printed, also what is folded away.
let unfolded = [];
addEventListener('beforeprint', () => {
  unfolded = all('main details:not([open])');
  for (const details of unfolded) details.open = true;
});
addEventListener('afterprint', () => {
  for (const details of unfolded) details.open = false;
});

// Trying an operation that only reads.
function pathOf(form) {
  const query = new URLSearchParams();
  let path = form.dataset.path;
  for (const { name, value, dataset } of form.elements) {
    if (dataset.in === 'path') path = path.replace(`{${name}}`, encodeURIComponent(value));
    else if (dataset.in === 'query' && value !== '') query.set(name, value);
  }
  return query.size > 0 ? `${path}?${query}` : path;
}

/** Sets JSON out in lines without reading its numbers, which may be larger than JavaScript's. */
function setOut(json) {
  let depth = 0;
  const line = (change = 0) => {
    depth += change;
    return `\n${'  '.repeat(Math.max(0, depth))}`;
  };
  return json.replace(/"(?:[^"\\]|\\.)*"|[{[]\s*[}\]]|[{[]|[}\]]|,|:|\s+/g, (token) => {
    if (token === '{' || token === '[') return token + line(1);
    if (token === '}' || token === ']') return line(-1) + token;
    if (token === ',') return token + line();
    if (token === ':') return ': ';
    return token.trim();
  });
}

async function send(form, status, result) {
  const headers = {};
  if ('needsToken' in form.dataset && tokenInput.value !== '')
    headers.Authorization = `Bearer ${tokenInput.value.trim()}`;
  status.textContent = 'Sending …';
  status.className = '';
  result.replaceChildren();
  try {
    const startedMs = performance.now();
    const response = await fetch(base + pathOf(form), { headers, cache: 'no-store' });
    const text = await response.text();
    const took = Math.round(performance.now() - startedMs);
    const isJson = /json/.test(response.headers.get('content-type') ?? '');
    const figure = element('figure', '', { class: 'code' });
    const caption = element('figcaption', '');
    caption.append(element('span', response.headers.get('content-type') ?? ''));
    const pre = element('pre', '', { tabindex: '0' });
    pre.append(element('code', (isJson ? setOut(text) : text).slice(0, 100_000)));
    figure.append(caption, pre);
    addCopyButton(figure);
    result.append(figure);
    status.textContent = `${response.status} in ${took} ms`;
    status.className = response.ok ? 'status ok' : 'status';
  } catch (error) {
    status.textContent = `No answer: ${error.message}`;
  }
}

for (const box of all('.try')) {
  const form = box.querySelector('form');
  const line = box.parentElement.querySelector('[data-curl-path]');
  form.addEventListener('input', () => {
    line.textContent = pathOf(form).replace(/["$`\\]/g, '\\$&');
  });
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    send(form, box.querySelector('[role=status]'), box.querySelector('.result'));
  });
  box.hidden = false;
}
