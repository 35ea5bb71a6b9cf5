import type { MoveRow } from './api-document.js';
import { anchor, type Content, type Html, html } from './markup.js';

/** What can be done to a resource: where each move leads from which status, and which event tells of it. */
export function movesTable(moves: readonly MoveRow[]): Html {
  return html`<table class="moves">
<thead><tr><th scope="col">Move</th><th scope="col">From</th><th scope="col">To</th><th scope="col">Event</th></tr></thead>
<tbody>${moves.map(row)}</tbody>
</table>`;
}

function row({ move, takes, event, operationId }: MoveRow): Html {
  const steps = Object.entries(takes);
  const stays = steps.length > 1 && steps.every(([from, to]) => from === to);
  const targets = [...new Set(steps.map(([, to]) => to))];
  return html`
<tr><th scope="row"><a href="#${anchor(operationId)}"><code>${move}</code></a></th>
<td>${codes(steps.map(([from]) => from))}</td><td>${stays ? 'the same' : codes(targets)}</td><td><code>${event}</code></td></tr>`;
}

function codes(names: readonly string[]): Content {
  return names.map((name, index) => html`${index > 0 && ', '}<code>${name}</code>`);
}
