export {
  type Command,
  CommandFailure,
  type Context,
  type Option,
  type Options,
  type Section,
  shellWord,
  UsageError,
  usageLine,
} from './command.js';
export { auditList } from './commands/audit.js';
export { deliveriesGet, deliveriesList } from './commands/deliveries.js';
export { eventsGet, eventsList, eventsTail } from './commands/events.js';
export {
  instantOf,
  json,
  jsonLines,
  limitOf,
  limitOption,
  organizationText,
  rangeOptions,
} from './listing.js';
export { allCommands, main, operatorSummaries, type Streams } from './main.js';
export { requireConfirmation } from './prompt.js';
export { day, shortTime, timeColumn } from './short-time.js';
export type { Column } from './table.js';
export { type Output, Terminal } from './terminal.js';
export { eventMembers, memberOf, type TypedSchema, typesFile } from './type-source.js';
