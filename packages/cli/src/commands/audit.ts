import type { AuditEntry } from '@posthorn/client';
import { sets } from '../command.js';
import { apiCommand, namesConnection } from '../connection.js';
import { listOptions, printList } from '../listing.js';
import { timeColumn } from '../short-time.js';
import type { Column } from '../table.js';

export const auditList = apiCommand({
  name: 'audit list',
  summary: 'List audit log entries, newest first.',
  options: {
    organization: sets('organization_id', 'ORG-x', 'Only entries for this organization.'),
    workspace: sets('workspace_id', 'WS-x', 'Only entries for this workspace.'),
    actor: sets('actor_id', 'id', 'Only entries by this actor.'),
    action: sets('action', 'action', 'Only entries with this action, such as webhook.created.'),
    target: sets('target_id', 'id', 'Only entries about this webhook, token or resource.'),
    ...listOptions,
  },
  readsDatabase: (context) => !namesConnection(context),
  run: (context) =>
    printList(context, {
      list: (limit) => context.posthorn.auditLogs.list({ ...context.fields, limit }),
      columns,
      what: 'entries',
    }),
});

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
