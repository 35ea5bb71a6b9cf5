import type { Command } from './command.js';
import { auditList } from './commands/audit.js';
import { deliveriesGet, deliveriesList, deliveriesRedeliver } from './commands/deliveries.js';
import { eventsGet, eventsList, eventsTail } from './commands/events.js';
import { listen } from './commands/listen.js';
import { login, logout, whoami } from './commands/login.js';
import { mcp } from './commands/mcp.js';
import { deliveriesReplay, replaysGet } from './commands/replay.js';
import { stats } from './commands/stats.js';
import { trigger } from './commands/trigger.js';
import { types, typesGenerate } from './commands/types.js';
import { verifyCommand } from './commands/verify.js';
import { webhookChanges } from './commands/webhook-changes.js';
import { webhookStatus } from './commands/webhook-status.js';
import { webhookReads } from './commands/webhooks.js';
import { completion } from './completion.js';

/** The commands that need only the API, in the order of the help. */
export const integratorCommands: readonly Command[] = [
  login,
  logout,
  whoami,
  listen,
  trigger,
  verifyCommand,
  ...webhookReads,
  ...webhookChanges,
  ...webhookStatus,
  deliveriesList,
  deliveriesGet,
  deliveriesRedeliver,
  deliveriesReplay,
  replaysGet,
  eventsList,
  eventsGet,
  eventsTail,
  types,
  typesGenerate,
  stats,
  auditList,
  mcp,
  completion,
];
