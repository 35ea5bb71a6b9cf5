import { laidOut } from '../code/json';
import { parsed } from './filter-rules';

type Path = readonly (string | number)[];

/** How many names a placeholder may have. */
const namesMax = 10;

/** Returns whether a placeholder can name a value of an event. */
export function canName(path: Path): boolean {
  const isName = (name: string | number) => /^[^\s.{}]([^.{}]*[^\s.{}])?$/.test(String(name));
  return path.length > 0 && path.length <= namesMax && path.every(isName);
}

const placeholderOf = (path: Path) => `{{${path.join('.')}}}`;

/**
 * Returns how a template changes when a value is added: what replaces a part of its text. In a text, the placeholder is
 * added at the cursor, or replaces what is selected; anywhere else, it becomes a new field of the whole.
 */
export function insertion(
  text: string,
  selected: readonly [number, number],
  path: Path,
): { start: number; end: number; text: string } {
  const [start, end] = outsideOfPlaceholders(text, selected);
  const isInText = text.slice(0, start).replaceAll(/\\./gs, '').split('"').length % 2 === 0;
  const isKey = /^[^"]*"\s*:/.test(text.slice(start));
  const quoted = JSON.stringify(placeholderOf(path));
  if (isInText && !isKey) return { start, end, text: quoted.slice(1, -1) };
  const template = parsed(text.trim() === '' ? '{}' : text);
  if (typeof template !== 'object' || template === null) return { start, end, text: quoted };
  const next = Array.isArray(template)
    ? [...template, placeholderOf(path)]
    : { ...template, [freeName(template, path)]: placeholderOf(path) };
  return { start: 0, end: text.length, text: laidOut(next) };
}

/** A cursor in a placeholder goes to its end, and a selected part of it stands for all of it. */
function outsideOfPlaceholders(text: string, [start, end]: readonly [number, number]): [number, number] {
  for (const { 0: found, index } of text.matchAll(/\{\{[^{}]*\}\}/g)) {
    const close = index + found.length;
    if (start > index && start < close) return [start === end ? close : index, Math.max(end, close)];
  }
  return [start, end];
}

/** Names a field after the value in it. If another value has that name, the names before it tell the two apart. */
function freeName(template: object, path: Path): string {
  const value = (name: string) => (template as Record<string, unknown>)[name];
  for (let from = path.length - 1; from > 0; from -= 1) {
    const name = path.slice(from).join('_');
    if (!Object.hasOwn(template, name) || value(name) === placeholderOf(path)) return name;
  }
  return path.join('_');
}

const shownMax = 6;

/** Returns a line such as `currency: {{payload.currency}}` for each of the first plain values of a payload. */
function linesOf(payload: Record<string, unknown>): string[] {
  return Object.entries(payload)
    .filter(([name, value]) => typeof value !== 'object' && canName(['payload', name]))
    .slice(0, shownMax)
    .map(([name]) => `${name}: ${placeholderOf(['payload', name])}`);
}

const subject = '{{subject.type}} {{subject.id}}';

/** What some receivers expect. None lets a value notify people: texts are plain, and mentions are off. */
const starts = {
  Slack: (lines: string[]) => ({
    text: `{{type}}: ${subject}`,
    blocks: [
      { type: 'header', text: { type: 'plain_text', text: '{{type}}' } },
      ...(lines.length > 0
        ? [{ type: 'section', fields: lines.map((text) => ({ type: 'plain_text', text })) }]
        : []),
      {
        type: 'context',
        elements: [{ type: 'plain_text', text: `${subject}, by {{actor.id}}, {{created_at}}` }],
      },
    ],
  }),
  Teams: (lines: string[]) => ({
    type: 'message',
    attachments: [
      {
        contentType: 'application/vnd.microsoft.card.adaptive',
        content: {
          type: 'AdaptiveCard',
          version: '1.4',
          body: [
            { type: 'TextBlock', text: '{{type}}', size: 'Medium', weight: 'Bolder' },
            ...[...lines, `${subject}, by {{actor.id}}`].map((text) => ({
              type: 'TextBlock',
              text,
              wrap: true,
            })),
          ],
        },
      },
    ],
  }),
  Discord: (lines: string[]) => ({
    allowed_mentions: { parse: [] },
    embeds: [
      {
        title: '{{type}}',
        description: [subject, ...lines].join('\n'),
        timestamp: '{{created_at}}',
        footer: { text: '{{id}}' },
      },
    ],
  }),
  PagerDuty: () => ({
    routing_key: 'YOUR-INTEGRATION-KEY',
    event_action: 'trigger',
    dedup_key: '{{subject.id}}',
    payload: {
      summary: `{{type}}: ${subject}`,
      source: '{{organization_id}}',
      severity: 'warning',
      timestamp: '{{created_at}}',
      class: '{{type}}',
      custom_details: '{{payload}}',
    },
  }),
};

export type Start = keyof typeof starts;
export const startNames = Object.keys(starts) as Start[];

/** Returns the text of a template to begin with, with values that such an event has. */
export function startOf(name: Start, event: { payload?: unknown } | undefined): string {
  return laidOut(starts[name](linesOf((event?.payload ?? {}) as Record<string, unknown>)));
}
