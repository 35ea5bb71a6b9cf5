import * as cli from 'posthorn';
import * as overviews from '../operations/overview-store.js';
import type { Config } from '../settings/config.js';
import { openSecretBox } from '../settings/keys.js';
import { durationText } from '../values/time.js';
import { restoreKey, webhooksText } from './finding.js';
import { type OperatorCommand, withDatabase } from './operator.js';

const failingMax = '10';
const longWaitSeconds = 60;
const soonMs = 7 * 86_400_000;

export const status: OperatorCommand = {
  name: 'status',
  options: {
    limit: {
      ...cli.limitOption,
      description: 'Maximum number of failing webhooks, 1 to 1000, newest failures first.',
      fallback: failingMax,
    },
    json: cli.json,
  },
  run: async ({ options, config, terminal }) => {
    const limit = cli.limitOf({ limit: options.limit ?? failingMax });
    const overview = await withDatabase(config, async (database) =>
      overviews.readOverview(database, limit, await keyPrefixes(config)),
    );
    if (options.json) {
      const failing_webhooks = overview.failing_webhooks.map((one) => ({
        ...one,
        url: withoutQuery(one.url),
      }));
      terminal.line(JSON.stringify({ ...overview, failing_webhooks }));
      return;
    }
    showFigures(terminal, overview);
    const shown = overview.failing_webhooks.length;
    const { failing } = overview.webhooks;
    if (shown > 0) {
      title(terminal, 'Failing webhooks');
      terminal.table(failingColumns, overview.failing_webhooks);
      if (failing > shown)
        terminal.note(
          `Only the newest ${shown} of ${failing} failing webhooks are shown. Raise --limit to see more.`,
        );
    }
    title(terminal, 'Partitions');
    terminal.table(partitionColumns, overview.partitions);
    for (const advice of adviceFor(overview, Date.now())) {
      terminal.line();
      terminal.line(`${terminal.paint('yellow', 'Attention:')} ${advice}`);
    }
  },
};

/** Returns the first bytes of everything that the keys decrypt; undefined if no key is set. */
async function keyPrefixes(config: Config): Promise<readonly Buffer[] | undefined> {
  if (config.databaseUrl !== undefined && config.secretKeys === undefined) return undefined;
  return (await openSecretBox(config)).prefixes;
}

function showFigures(terminal: cli.Terminal, overview: overviews.Overview): void {
  const { nodes, deliveries, webhooks, oldest_due_seconds: oldestDueSeconds } = overview;
  const alive = nodes.filter((node) => node.alive);
  const dead = nodes.length - alive.length;
  terminal.fields([
    ['Nodes', `${alive.length} alive${dead > 0 ? `, ${dead} overdue` : ''}`],
    ['Backlog', `${deliveries.backlog} waiting for the first attempt`],
    ['Retries', `${deliveries.retrying} waiting for another attempt`],
    ['In memory', `${deliveries.in_memory} deliveries`],
    ['Held', `${deliveries.held} waiting until their webhook is verified or resumed`],
    [
      'Oldest due',
      oldestDueSeconds < 1 ? 'none' : `waiting for ${durationText(Math.round(oldestDueSeconds) * 1000)}`,
    ],
    [
      'Webhooks',
      `${webhooks.active} active (${webhooks.failing} failing), ${webhooks.unverified} unverified, ${webhooks.paused} paused, ${webhooks.disabled} disabled`,
    ],
    ['Secret key', secretKeyText(overview.undecryptable_webhooks)],
  ]);
}

function secretKeyText(undecryptable: number | null): string {
  if (undecryptable === null) return 'not checked, because POSTHORN_SECRET_KEY is not set here';
  if (undecryptable === 0) return 'decrypts the secrets of all webhooks';
  return `does not decrypt the secrets of ${webhooksText(undecryptable)}`;
}

/** Returns what needs attention, each with what to do about it. */
export function adviceFor(
  overview: Pick<
    overviews.Overview,
    'nodes' | 'partitions' | 'oldest_due_seconds' | 'undecryptable_webhooks'
  >,
  nowMs: number,
): string[] {
  const { nodes, partitions, oldest_due_seconds: oldestDueSeconds } = overview;
  const { undecryptable_webhooks: undecryptable } = overview;
  const advice: string[] = [];
  if (!nodes.some(({ alive }) => alive))
    advice.push('no node is attempting deliveries. Run posthorn serve with the delivery role.');
  else if (oldestDueSeconds > longWaitSeconds)
    advice.push(
      'due deliveries are waiting for a node. Look for errors in the logs of the nodes, or add nodes.',
    );
  if (undecryptable)
    advice.push(
      `nodes with this secret key cannot sign requests to ${webhooksText(undecryptable)}, so ` +
        `the affected deliveries are waiting. ${restoreKey}`,
    );
  const short = partitions.find(({ until }) => until !== null && until.getTime() < nowMs + soonMs);
  if (short)
    advice.push(
      `${short.table} has no partitions for the coming week. Run a node with the maintenance role.`,
    );
  return advice;
}

const failingColumns: readonly cli.Column<overviews.FailingWebhook>[] = [
  { title: 'webhook', of: ({ webhook_id }) => webhook_id },
  cli.timeColumn('failing since', ({ failing_since }) => failing_since),
  { title: 'result', of: ({ http_status, error }) => String(http_status ?? error ?? '-') },
  { title: 'URL', of: ({ url }) => withoutQuery(url), spare: 1, cuts: true },
  {
    title: 'organization',
    of: ({ organization_id, organization_name }) => cli.organizationText(organization_id, organization_name),
    spare: 2,
  },
];

const partitionColumns: readonly cli.Column<overviews.Partitions>[] = [
  { title: 'table', of: ({ table }) => table },
  { title: 'partitions', of: ({ partitions }) => String(partitions) },
  {
    title: 'size',
    of: ({ bytes }) => String(bytes),
    short: ({ bytes }) => `${(bytes / 1_000_000).toFixed(1)} MB`,
  },
  {
    title: 'until (UTC)',
    of: ({ until }) => until?.toISOString() ?? '-',
    short: ({ until }) => (until ? cli.shortTime(until) : '-'),
  },
];

/** Hides the query string, which may contain one of the receiver's secrets. */
function withoutQuery(url: string): string {
  return url.replace(/\?.*$/, '?…');
}

function title(terminal: cli.Terminal, text: string): void {
  terminal.line();
  terminal.line(terminal.paint('bold', text));
}
