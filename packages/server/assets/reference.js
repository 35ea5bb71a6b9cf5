/* global Scalar */

const readerEvents = ['wheel', 'touchstart', 'pointerdown', 'keydown'];

openProblem();
addEventListener('hashchange', openProblem);

const options = {
  // Nothing is loaded from, or sent to, another host.
  withDefaultFonts: false,
  telemetry: false,
  showDeveloperTools: 'never',
  hideClientButton: true,
  agent: { disabled: true },
  mcp: { disabled: true },
  // A token that was typed in is forgotten with the page.
  persistAuth: false,
  // The one model is the error, which has a guide of its own.
  hideModels: true,
  // Fields in the order that the responses have.
  orderSchemaPropertiesBy: 'preserve',
  customCss: `
    /* Scalar cuts the description of a tag after seven lines. Guides are such descriptions. */
    .scalar-app .tag-section-container .markdown { display: block; -webkit-line-clamp: none; }
    /* Columns as wide as what is in them, not all the same. */
    .scalar-app .markdown table { table-layout: auto; }
    .scalar-app .markdown :is(th, td) { word-break: normal; }
    /* On a phone, what a name means is below it. */
    @media (width < 600px) {
      .scalar-app .markdown table:has(td:first-child > code:first-child) {
        &, tbody, tr, td { display: block; }
        thead { display: none; }
        tr { padding: 0.5rem 0; border-bottom: 1px solid var(--scalar-border-color); }
        tr:last-child { border-bottom: 0; }
        td { padding: 0.125rem 0.75rem; border: 0; }
      }
    }
    .scalar-app .markdown tr[data-opened] { background: var(--scalar-background-3); }
    /* A guide has nothing in its right column, so its text may be wider. */
    .section-column:empty { display: none; }
    .section-column:has(+ .section-column:empty) { max-width: 50rem; }
  `,
};

fetch('openapi.json')
  .then((response) => response.text())
  .then((text) => Scalar.createApiReference('#reference', { ...options, content: JSON.parse(text, marked) }));

/** Scalar expects a type in every schema, or its own mark in those that allow any value. */
function marked(key, value) {
  if (key === 'properties')
    for (const each of Object.values(value))
      if (each.description && !each.type && !each.anyOf && !each.$ref) each.__scalar_ = '';
  return value;
}

/** Opens the guide to errors at the row of one code if the URL is the `type` of an error: `/docs#problem-<code>`. */
function openProblem() {
  const code = /^#problem-(\w+)$/.exec(location.hash)?.[1];
  if (!code) return;
  location.replace('#tag/errors');
  const show = () => {
    const row = rowOf(code);
    if (!row) return;
    row.dataset.opened = '';
    const { top, bottom } = row.getBoundingClientRect();
    if (top < 0 || bottom > innerHeight) row.scrollIntoView({ block: 'center' });
  };
  // Scalar renders the guides bit by bit and scrolls to the start of this one, until the reader moves.
  const rendered = new MutationObserver(show);
  rendered.observe(document.body, { childList: true, subtree: true });
  addEventListener('scroll', show);
  const stop = () => {
    rendered.disconnect();
    removeEventListener('scroll', show);
    for (const event of readerEvents) removeEventListener(event, stop);
  };
  for (const event of readerEvents) addEventListener(event, stop);
}

function rowOf(code) {
  for (const row of document.querySelectorAll('.markdown tr')) {
    delete row.dataset.opened;
    if (row.firstElementChild.textContent === code) return row;
  }
}
