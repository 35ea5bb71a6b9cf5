import type { Command } from 'posthorn';
import { auditVerify } from './audit.js';
import { catalogueApply, catalogueDiff } from './catalogue.js';
import { doctor } from './doctor.js';
import { operatorCommand } from './operator.js';
import { organizationForget, organizationMove, organizationRename } from './organization.js';
import { readCommands } from './reads.js';
import { demo, migrateCommand, serve } from './serve.js';
import { status } from './status.js';
import { tokenCreate, tokenList, tokenRevoke } from './token.js';

/**
 * The commands that need the server. The package posthorn adds them to its own. If both have a command of the same
 * name, `readsDatabase` decides which one runs.
 */
export const operatorCommands: readonly Command[] = [
  serve,
  demo,
  migrateCommand,
  status,
  doctor,
  tokenCreate,
  tokenList,
  tokenRevoke,
  auditVerify,
  catalogueDiff,
  catalogueApply,
  organizationRename,
  organizationMove,
  organizationForget,
  ...readCommands,
].map(operatorCommand);
