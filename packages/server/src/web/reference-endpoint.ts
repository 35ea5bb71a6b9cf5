import type { ApiDocument, Operation } from './api-document.js';
import { anchor, type Html, html } from './markup.js';

/** An operation with the place where it stands in the document. */
export interface Endpoint {
  method: string;
  path: string;
  operation: Operation;
}

export function endpointsOf(document: ApiDocument): Endpoint[] {
  return Object.entries(document.paths ?? {}).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
}

export function endpointAnchor({ method, operation, path }: Endpoint): string {
  return anchor(operation.operationId ?? `${method}-${path}`);
}

export function endpointTitle({ method, operation, path }: Endpoint): string {
  return operation.summary ?? operation.operationId ?? `${method} ${path}`;
}

export function methodBadge(method: string): Html {
  return html`<span class="method ${anchor(method.toLowerCase())}">${method}</span>`;
}
