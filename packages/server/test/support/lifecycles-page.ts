import type { Schema } from '../../src/reference/components.js';
import {
  type Attribute,
  creationSchema,
  type Lifecycle,
  lifecycles,
  type Move,
  moveSchema,
  transitionsOf,
} from '../../src/resources/resource-schema.js';
import { table } from '../../src/web/route.js';
import { typeText } from './schema-words.js';

const resources: [name: string, lifecycle: Lifecycle][] = Object.entries(lifecycles);

/** Every lifecycle of the table of moves: its statuses, its moves and its attributes. */
export function lifecyclesPage(): string {
  return [
    table(['Resource', 'Subject', 'IDs', 'Statuses', 'Attributes'], resources.map(indexRow)),
    table(
      ['Resource', 'Move', 'From', 'To', 'Event', 'Fields besides `actor`'],
      resources.flatMap(([name, lifecycle]) =>
        [creationRow(lifecycle), ...moveRows(lifecycle)].map((row) => [name, ...row]),
      ),
    ),
  ].join('\n\n');
}

function indexRow([name, lifecycle]: [string, Lifecycle]): string[] {
  const statuses = new Set(transitionsOf(lifecycle).map(({ to }) => `\`${to}\``));
  return [
    name,
    `\`${lifecycle.kind}\``,
    `\`${lifecycle.prefix}-*\``,
    [...statuses].join(', '),
    attributesOf(lifecycle),
  ];
}

function creationRow({ creation: { to, event } }: Lifecycle): string[] {
  return ['create', '', `\`${to}\``, eventName(event), '`organization_id`, `workspace_id?`, the attributes'];
}

function moveRows(lifecycle: Lifecycle): string[][] {
  return Object.entries(lifecycle.moves).map(([name, move]) => {
    const steps = Object.entries(move.transitions);
    const stays = steps.every(([from, to]) => from === to);
    const to =
      stays && steps.length > 1
        ? 'unchanged'
        : [...new Set(steps.map((step) => `\`${step[1]}\``))].join(', ');
    const from = steps.map((step) => `\`${step[0]}\``).join(', ');
    return [`\`${name}\``, from, to, eventName(move.event), fieldsOf(lifecycle, move)];
  });
}

function eventName(type: string | undefined): string {
  return type ? `\`${type}\`` : 'none';
}

function fieldsOf(lifecycle: Lifecycle, move: Move): string {
  const { properties } = moveSchema(lifecycle, move);
  return Object.keys(properties)
    .filter((name) => name !== 'actor')
    .map((name) => {
      const fill = move.fills?.[name];
      const isNeeded = move.needs?.includes(name);
      return `\`${name}${isNeeded ? '' : '?'}\`${fill ? ` (${words(fill)})` : ''}`;
    })
    .join(', ');
}

function attributesOf(lifecycle: Lifecycle): string {
  const { properties } = creationSchema(lifecycle);
  return Object.entries(lifecycle.attributes)
    .map(([name, attribute]) => {
      const given = properties[name] as Schema | undefined;
      return `\`${name}\` ${given ? typeText(given) : 'not accepted'} (${leftOut(attribute)})`;
    })
    .join(', ');
}

function leftOut({ required, counts, fallback }: Attribute): string {
  if (required) return 'required';
  if (counts) return 'counted automatically';
  return fallback ? words(fallback) : 'null';
}

function words(fill: NonNullable<Move['fills']>[string]): string {
  if (fill === 'now') return 'now';
  if (fill === 'elapsed') return 'time spent in the current status';
  return 'value' in fill ? `\`${fill.value}\`` : `the actor, if its type is \`${fill.actor}\``;
}
