import { type ApiDocument, isOpen, mainContent, type Parameter, tokenVariable } from './api-document.js';
import { type Content, type Html, html } from './markup.js';
import type { Endpoint } from './reference-endpoint.js';
import { exampleOf, parameterExample, shown } from './reference-schema.js';

/**
 * A line for a shell. Without the page's script the address and the token are variables of the shell; the
 * script puts the page's own address and the token that was entered in their place.
 */
export function curl(document: ApiDocument, { method, operation, path }: Endpoint): Html {
  const parameters = operation.parameters ?? [];
  const value = (parameter: Parameter) =>
    shown(parameterExample(document, parameter) ?? parameter.name.toUpperCase());
  const filled = path.replace(/\{([^}]+)\}/g, (_whole, name: string) => {
    const parameter = parameters.find((one) => one.in === 'path' && one.name === name);
    return encoded(parameter ? value(parameter) : name);
  });
  const query = parameters
    .filter((parameter) => parameter.in === 'query' && parameter.required)
    .map((parameter) => `${encoded(parameter.name)}=${encoded(value(parameter))}`);
  const address = inQuotes(query.length > 0 ? `${filled}?${query.join('&')}` : filled);
  const streams = Object.values(operation.responses ?? {}).some(
    ({ content }) => content && 'text/event-stream' in content,
  );
  const flags = `${streams ? ' -N' : ''}${method === 'GET' ? '' : ` -X ${method}`}`;
  const lines: Content[] = [
    html`curl${flags} "<span data-fill="address">$POSTHORN_URL</span><span data-curl-path>${address}</span>"`,
  ];
  if (!isOpen(operation))
    lines.push(html`-H "Authorization: Bearer <span data-fill="token">$${tokenVariable(document)}</span>"`);
  for (const header of parameters.filter((parameter) => parameter.in === 'header' && parameter.required))
    lines.push(`-H ${quoted(`${header.name}: ${value(header)}`)}`);
  const [type, media] = mainContent(operation.requestBody?.content);
  if (media) {
    lines.push(`-H ${quoted(`Content-Type: ${type}`)}`);
    lines.push(`-d ${quoted(JSON.stringify(exampleOf(document, media), null, 2) ?? '')}`);
  }
  return html`${lines.map((line, index) => html`${index > 0 && ' \\\n  '}${line}`)}`;
}

/** Percent-encoded for a URL that stands in double quotes in a shell, where `!` has a meaning too. */
function encoded(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16)}`,
  );
}

const inQuotes = (text: string) => text.replace(/["$`\\]/g, '\\$&');
const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
