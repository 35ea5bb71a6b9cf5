/* global Scalar */

// An error's `type` is `/docs#problem-<code>`. The guide with the table of codes is there.
if (location.hash.startsWith('#problem-')) history.replaceState(null, '', '#tag/errors');

Scalar.createApiReference('#reference', {
  url: 'openapi.json',
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
    /* Columns as wide as what is in them, not all the same. */
    .scalar-app .markdown table { table-layout: auto; }
    .scalar-app .markdown :is(th, td) { word-break: normal; }
    /* On a phone a table scrolls, so that names stay in one piece. */
    @media (width < 600px) {
      .scalar-app .markdown table { display: block; }
      .scalar-app .markdown td:last-of-type { min-width: 12rem; }
    }
    /* A guide has nothing in its right column, so its text may be wider. */
    .section-column:empty { display: none; }
    .section-column:has(+ .section-column:empty) { max-width: 50rem; }
  `,
});
