-- Generated from lifecycles.json. To change it, change that file, then run
-- UPDATE_DOCS=1 npx vitest run packages/server/test/docs.test.ts

-- Adds the moves that the database does not have yet. It removes none: during a rolling upgrade, nodes of another
-- version still need theirs. To remove or change a move, write a migration.
insert into posthorn.lifecycle_moves (kind, move, from_status, to_status) values
  ('service_line', 'create', null, 'draft'),
  ('service_line', 'activate', 'draft', 'active'),
  ('service_line', 'pause', 'active', 'paused'),
  ('service_line', 'resume', 'paused', 'active'),
  ('service_line', 'close', 'active', 'closed'), ('service_line', 'close', 'paused', 'closed'),
  ('invoice', 'create', null, 'draft'),
  ('invoice', 'finalize', 'draft', 'open'),
  ('invoice', 'pay', 'open', 'paid'),
  ('invoice', 'fail-payment', 'open', 'open'),
  ('invoice', 'void', 'open', 'voided'),
  ('incident', 'create', null, 'open'),
  ('incident', 'change-severity', 'open', 'open'),
  ('incident', 'resolve', 'open', 'resolved'),
  ('agent', 'create', null, 'active'),
  ('agent', 'report-violation', 'active', 'active'),
  ('run', 'create', null, 'running'),
  ('run', 'complete', 'running', 'completed'),
  ('run', 'fail', 'running', 'failed'),
  ('user', 'create', null, 'invited'),
  ('user', 'change-role', 'invited', 'invited'),
  ('user', 'deactivate', 'invited', 'deactivated'),
  ('integration', 'create', null, 'connected'),
  ('integration', 'fail-sync', 'connected', 'connected'),
  ('integration', 'disconnect', 'connected', 'disconnected'),
  ('integration', 'reconnect', 'disconnected', 'connected'),
  ('execution', 'create', null, 'running'),
  ('execution', 'block', 'running', 'blocked'),
  ('execution', 'resume', 'blocked', 'running'),
  ('capacity', 'create', null, 'normal'),
  ('capacity', 'warn', 'normal', 'strained'), ('capacity', 'warn', 'strained', 'strained'), ('capacity', 'warn', 'short', 'strained'),
  ('capacity', 'detect-gap', 'normal', 'short'), ('capacity', 'detect-gap', 'strained', 'short'), ('capacity', 'detect-gap', 'short', 'short'),
  ('task', 'create', null, 'open'),
  ('task', 'assign', 'open', 'open'), ('task', 'assign', 'in_progress', 'in_progress'),
  ('task', 'start', 'open', 'in_progress'),
  ('task', 'complete', 'in_progress', 'done'),
  ('task', 'cancel', 'open', 'cancelled'), ('task', 'cancel', 'in_progress', 'cancelled')
on conflict do nothing;
