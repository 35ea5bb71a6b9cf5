import type { Command } from './command.js';
import { auditList } from './commands/audit.js';
import { completion } from './commands/completion.js';
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
import {
  webhooksActivate,
  webhooksCreate,
  webhooksDelete,
  webhooksDisable,
  webhooksPause,
  webhooksPreview,
  webhooksResume,
  webhooksRotate,
  webhooksUpdate,
} from './commands/webhook-changes.js';
import { webhooksTest, webhooksVerify } from './commands/webhook-checks.js';
import { webhooksGet, webhooksList } from './commands/webhooks.js';

/** The commands that need only the API, in the order of the help. */
export const integratorCommands: readonly Command[] = [
  login,
  logout,
  whoami,
  listen,
  trigger,
  verifyCommand,
  webhooksList,
  webhooksGet,
  webhooksCreate,
  webhooksUpdate,
  webhooksPreview,
  webhooksVerify,
  webhooksTest,
  webhooksRotate,
  webhooksPause,
  webhooksResume,
  webhooksDisable,
  webhooksActivate,
  webhooksDelete,
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
