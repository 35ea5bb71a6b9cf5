import type { AuditEntry } from '@posthorn/client';
import type { Command } from '../command.js';
import { connect, connectionOptions, namesConnection } from '../connection.js';
import { listOptions, printList, rangeOf } from '../listing.js';
import { timeColumn } from '../short-time.js';
import type { Column } from '../table.js';

export const auditList: Command = {
  name: 'audit list',
  summary: 'List audit log entries, newest first.',
  options: {
    organization: { value: 'ORG-x', description: 'Only entries for this organization.' },
    workspace: { value: 'WS-x', description: 'Only entries for this workspace.' },
    actor: { value: 'id', description: 'Only entries by this actor.' },
    action: { value: 'action', description: 'Only entries with this action, such as webhook.created.' },
    target: { value: 'id', description: 'Only entries about this webhook, token or resource.' },
    ...listOptions,
    ...connectionOptions,
  },
  readsDatabase: (context) => !namesConnection(context),
  run: async (context) => {
    const { options } = context;
    const connection = await connect(context);
    const query = {
      organization_id: options.organization,
      workspace_id: options.workspace,
      actor_id: options.actor,
      action: options.action,
      target_id: options.target,
      ...rangeOf(options),
    };
    await printList(context, connection, {
      list: (limit) => connection.posthorn.auditLogs.list({ ...query, limit }),
      columns,
      what: 'entries',
    });
  },
};

const columns: readonly Column<AuditEntry>[] = [
  timeColumn('time', ({ created_at }) => created_at),
  { title: 'action', of: ({ action }) => action },
  { title: 'target', of: ({ target }) => target.id },
  { title: 'actor', of: ({ actor }) => `${actor.type} ${actor.id}` },
  { title: 'organization', of: ({ organization_id }) => organization_id, spare: 1 },
  { title: 'workspace', of: ({ workspace_id }) => workspace_id ?? '-', spare: 2 },
  { title: 'address', of: ({ source_address }) => source_address ?? '-', spare: 3 },
  { title: 'id', of: ({ id }) => id, spare: 4 },
];
