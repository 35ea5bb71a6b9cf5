import * as cli from 'posthorn';
import * as tokens from '../access/token.js';
import { createToken, listTokenPage, revokeToken } from '../access/token-store.js';
import { operatorOrigin } from '../audit/audit-store.js';
import { readCell } from '../cells/relocation-store.js';
import type { Database } from '../postgres/database.js';
import { identifierPattern, kindPattern } from '../values/pattern.js';
import { parseDurationMs } from '../values/time.js';
import * as operator from './operator.js';

export const tokenCreate: operator.OperatorCommand = {
  name: 'token create',
  options: {
    organization: {
      value: 'ORG-x',
      description: 'The organization that the token belongs to.',
      required: true,
    },
    workspace: { value: 'WS-x', description: 'Restrict the token to this workspace.' },
    scopes: {
      value: 'a,b',
      description: `Comma-separated scopes: ${tokens.scopes.join(', ')}.`,
      fallback: tokens.defaultScopes.join(','),
    },
    'actor-type': { value: 'user', description: 'Actor type for the audit log. Requires --actor-id.' },
    'actor-id': { value: 'USR-x', description: 'Actor ID for the audit log. Requires --actor-type.' },
    expires: { value: '90d', description: 'Lifetime of the token.', fallback: '365d' },
    json: cli.json,
  },
  run: async ({ options, config, terminal }) => {
    const token = tokenOf(options, Date.now());
    const create = async (database: Database) => {
      const text = tokens.newTokenText(await cellOf(database, config.cell));
      await operator.writtenHere(token.organization_id, createToken(database, token, text, operatorOrigin()));
      return text;
    };
    const text = await operator.withDatabase(config, create, (directory) =>
      terminal.note(
        `There is no database in ${directory}, so this command creates one. If the service already has a database, run this ` +
          'command in the directory of the service, or set POSTHORN_DATA_DIR or DATABASE_URL.',
      ),
    );
    terminal.shownOnce = `The token ${token.id} is ${text}`;
    if (options.json) {
      const { id, organization_id, workspace_id, scopes, actor, expires_at } = token;
      terminal.line(
        JSON.stringify({ token: text, id, organization_id, workspace_id, scopes, actor, expires_at }),
      );
    } else if (terminal.isInteractive) {
      terminal.line(terminal.paint('bold', text));
      terminal.line(
        `${token.id} for ${token.organization_id}, expires on ${cli.day(token.expires_at)} (UTC).`,
      );
      terminal.line('Save it now. It is not shown again.');
    } else terminal.line(text);
  },
};

/** Usually more than there are, so that a script that reads the list misses none. */
const listedMax = 1_000;

export const tokenList: operator.OperatorCommand = {
  name: 'token list',
  options: {
    organization: { value: 'ORG-x', description: 'Only tokens of this organization.' },
    limit: { ...cli.limitOption, fallback: String(listedMax) },
    json: cli.json,
  },
  run: async ({ options, config, terminal }) => {
    const organizationId = operator.organizationOf(options);
    const limit = cli.limitOf({ limit: options.limit ?? String(listedMax) });
    const found = await operator.withDatabase(config, async (database) => {
      if (organizationId !== undefined) await operator.requireHere(database, organizationId);
      return listTokenPage(database, organizationId, undefined, limit + 1);
    });
    const tokens = found.slice(0, limit);
    if (options.json) terminal.line(JSON.stringify(tokens));
    else terminal.table(columns, tokens);
    if (found.length > limit)
      terminal.note(
        'There are more tokens. Raise --limit or use --organization. GET /platform/tokens returns all tokens of an ' +
          'organization, page by page.',
      );
  },
};

const columns: readonly cli.Column<tokens.Token>[] = [
  { title: 'id', of: ({ id }) => id },
  { title: 'organization', of: ({ organization_id }) => organization_id },
  { title: 'workspace', of: ({ workspace_id }) => workspace_id ?? '-', spare: 2 },
  { title: 'scopes', of: ({ scopes }) => scopes.join(','), spare: 3 },
  { title: 'actor', of: ({ actor }) => `${actor.type} ${actor.id}`, spare: 4 },
  { title: 'expires (UTC)', of: ({ expires_at }) => cli.day(expires_at) },
  {
    title: 'last used (UTC)',
    of: ({ last_used_at }) => last_used_at?.toISOString() ?? 'never',
    short: ({ last_used_at }) => (last_used_at ? cli.day(last_used_at) : 'never'),
    spare: 1,
  },
  { title: 'state', of: (token) => stateOf(token, Date.now()) },
];

export const tokenRevoke: operator.OperatorCommand = {
  name: 'token revoke',
  argument: { name: 'id', description: 'Token ID, TOK-…, as shown by posthorn token list.' },
  options: { json: cli.json },
  run: async ({ argument, options, config, terminal }) => {
    const revoked = await operator.withDatabase(config, (database) =>
      operator.writtenHere(
        `The organization of ${argument}`,
        revokeToken(database, argument, new Date(), operatorOrigin()),
      ),
    );
    if (!revoked)
      throw new cli.CommandFailure(
        `No token has the ID ${argument}. Run posthorn token list to see the IDs.`,
      );
    const { token } = revoked;
    terminal.line(options.json ? JSON.stringify(token) : `${token.id} is revoked.`);
  },
};

/** Returns the name of this cell for its tokens. The nodes store it, so POSTHORN_CELL need not be set here. */
async function cellOf(database: Database, given: string | undefined): Promise<string | undefined> {
  const stored = (await readCell(database))?.name;
  if (stored !== undefined && given !== undefined && stored !== given)
    throw new cli.CommandFailure(
      `The database belongs to the cell ${stored}, not to ${given}. Correct POSTHORN_CELL or DATABASE_URL.`,
    );
  return stored ?? given;
}

function tokenOf(options: cli.Options, nowMs: number): tokens.Token {
  const lifetimeMs =
    options.expires === undefined ? tokens.defaultLifetimeMs : parseDurationMs(options.expires);
  const expected = 'a duration such as 90d, 12h or 30m, at most 36500d';
  if (lifetimeMs === undefined || lifetimeMs === 0 || lifetimeMs > tokens.lifetimeMsMax)
    throw cli.invalid('expires', options.expires, expected);
  if ((options['actor-type'] === undefined) !== (options['actor-id'] === undefined))
    throw new cli.UsageError('--actor-type and --actor-id must be used together.');
  const actorId = options['actor-id'];
  return tokens.newToken(
    {
      organization_id: operator.organizationOf(options) ?? '',
      workspace_id: operator.workspaceOf(options) ?? null,
      scopes: parseScopes(options.scopes),
      actor:
        actorId === undefined
          ? undefined
          : {
              type: operator.matching('actor-type', options['actor-type'] ?? '', kindPattern),
              id: operator.matching('actor-id', actorId, identifierPattern.resource),
            },
      lifetimeMs,
      portal: false,
    },
    nowMs,
  );
}

function parseScopes(text: string | undefined): readonly tokens.Scope[] {
  if (text === undefined) return tokens.defaultScopes;
  const named = [...new Set(text.split(',').map((part) => part.trim()))];
  const unknown = named.find((name) => !(tokens.scopes as readonly string[]).includes(name));
  if (unknown !== undefined)
    throw new cli.UsageError(`--scopes: '${unknown}' is not a scope. Expected ${tokens.scopes.join(', ')}.`);
  return named as tokens.Scope[];
}

function stateOf(token: tokens.Token, nowMs: number): string {
  if (token.revoked_at) return 'revoked';
  return token.expires_at.getTime() > nowMs ? 'usable' : 'expired';
}
