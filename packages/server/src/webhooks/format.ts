import { envelopeText, eventJson, type StoredEvent } from '../events/event.js';
import { parseExact } from '../values/exact-json.js';
import { type InputFault, inputProblem } from '../values/problem.js';
import { isoText } from '../values/time.js';
import { renderTemplate, type Template } from './template.js';

export const formats = ['envelope', 'event', 'thin', 'cloudevents', 'slack', 'template'] as const;

/** What the body of a delivery looks like. */
export type Format = (typeof formats)[number];

/** A format and the JSON text of its template, as they are stored. */
interface Stored {
  format: Format;
  template: string | null;
}

/** Returns what is wrong with a format and a template together. */
export function formatFault(format: unknown, template: unknown): InputFault | undefined {
  const has = template !== undefined && template !== null;
  if ((format === 'template') === has) return undefined;
  return has
    ? { pointer: '/template', code: 'not_allowed', detail: 'must be null unless format is "template"' }
    : { pointer: '/template', code: 'required', detail: 'is required if format is "template"' };
}

/** Returns the format and the template as they will be. A format other than `template` drops the stored template. */
export function storedFormat(
  given: { format?: Format | null; template?: Template | null },
  stored: Stored,
): Stored {
  const format = given.format === undefined ? stored.format : (given.format ?? 'envelope');
  const kept = format === 'template' ? stored.template : null;
  const template = given.template === undefined ? kept : given.template && JSON.stringify(given.template);
  const fault = formatFault(format, template);
  const problem = inputProblem(fault ? [fault] : []);
  if (problem) throw problem;
  return { format, template };
}

export const contentTypeOf = (format: Format) =>
  format === 'cloudevents' ? 'application/cloudevents+json' : 'application/json';

/**
 * Returns the body of a request. It depends only on the event, the format and the template, so every attempt sends the
 * same bytes. Except in `slack` and `template`, the payload is embedded as it was recorded.
 */
export function bodyText({ format, template }: Stored, event: StoredEvent, test = false): string {
  switch (format) {
    case 'envelope':
      return envelopeText(event, event.payload, test);
    case 'event':
      return eventText(event, test);
    case 'thin': {
      const { payload, ...rest } = JSON.parse(eventText({ ...event, payload: 'null' }, test));
      return JSON.stringify(rest);
    }
    case 'cloudevents':
      return cloudEventText(event, test);
    case 'slack':
      return JSON.stringify({ text: chatText(event, test) });
    case 'template':
      return renderTemplate(JSON.parse(template!) as Template, parseExact(eventText(event, test)));
  }
}

function eventText(event: StoredEvent, test: boolean): string {
  const text = eventJson(event);
  return test ? `${text.slice(0, -1)},"test":true}` : text;
}

/** Returns a CloudEvent in structured mode. */
function cloudEventText(event: StoredEvent, test: boolean): string {
  const attributes = JSON.stringify({
    specversion: '1.0',
    id: event.id,
    source: `/organizations/${encodeURIComponent(event.organization_id)}`,
    type: event.type,
    time: isoText(event.created_at),
    subject: `${event.subject_type}/${event.subject_id}`,
    datacontenttype: 'application/json',
    organizationid: event.organization_id,
    ...(event.workspace_id !== null && { workspaceid: event.workspace_id }),
    actortype: event.actor_type,
    actorid: event.actor_id,
    ...(test && { test }),
  });
  return `${attributes.slice(0, -1)},"data":${event.payload}}`;
}

const shownFields = 6;
const shownLength = 100;

/** Returns a line about the event and, if its payload has simple values, another with the first of them. */
function chatText(event: StoredEvent, test: boolean): string {
  const { type, subject_type, subject_id, actor_type, actor_id, payload } = event;
  const head = `${test ? 'Test: ' : ''}${type}: ${subject_type} ${subject_id}, by ${actor_type} ${actor_id}`;
  const values = Object.entries(parseExact(payload) as object)
    .filter(([, value]) => typeof value === 'string' || typeof value === 'boolean')
    .slice(0, shownFields)
    .map(
      ([name, value]) => `${short(name)}: ${short(typeof value === 'string' ? value.slice(1) : `${value}`)}`,
    );
  return [head, ...(values.length > 0 ? [values.join(', ')] : [])].map(chatEscaped).join('\n');
}

function short(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ');
  return line.length > shownLength ? `${line.slice(0, shownLength).toWellFormed()}…` : line;
}

/** Slack treats these characters as markup: `<!channel>` would notify everybody. */
const chatEscaped = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
