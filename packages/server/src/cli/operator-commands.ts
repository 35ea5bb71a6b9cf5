import * as cli from 'posthorn';
import { auditVerify } from './audit.js';
import { catalogueApply, catalogueDiff } from './catalogue.js';
import { doctor } from './doctor.js';
import type { LocalApi } from './local-api.js';
import { type OperatorCommand, operatorCommand, organizationOf, rangeOf, workspaceOf } from './operator.js';
import { organizationForget, organizationMove, organizationRename } from './organization.js';
import { demo, migrateCommand, serve } from './serve.js';
import { status } from './status.js';
import { tokenCreate, tokenList, tokenRevoke } from './token.js';

/** Commands for integrators that read the database if an operator runs them. */
const readCommands = [
  cli.eventsList,
  cli.eventsGet,
  cli.eventsTail,
  cli.deliveriesList,
  cli.deliveriesGet,
  cli.auditList,
].map(onDatabase);

/** Returns a command that sends its requests to the routes of the service in this process, without a token. */
function onDatabase({ run, ...command }: cli.Command): OperatorCommand {
  return {
    ...command,
    run: async (context) => {
      const { config, options, stop } = context;
      // Usage errors come before the database is used.
      const asked = {
        organization_id: organizationOf(options),
        workspace_id: workspaceOf(options),
        actor_id: options.actor,
        action: options.action,
        target_id: options.target,
        ...rangeOf(options),
        limit: cli.limitOf(options),
      };
      const failed = new AbortController();
      let opening: Promise<LocalApi> | undefined;
      const fetch: typeof globalThis.fetch = async (input, init) => {
        // Imported here because loading the routes takes longer than most commands take to run.
        opening ??= import('./local-api.js').then(({ openLocalApi }) => openLocalApi(config, asked));
        const response = opening.then((api) => api.fetch(input, init));
        return response.catch((error) => {
          if (!init?.signal?.aborted) failed.abort(error);
          throw error;
        });
      };
      try {
        await run({ ...context, fetch, stop: AbortSignal.any([failed.signal, ...(stop ? [stop] : [])]) });
        failed.signal.throwIfAborted();
      } catch (error) {
        if (failed.signal.aborted) throw failed.signal.reason;
        // The response does not say what is wrong with the database.
        throw (await opening)?.failure ?? error;
      } finally {
        await opening?.then(
          (api) => api.close(),
          () => undefined,
        );
      }
    },
  };
}

/**
 * The commands that need the server. The package posthorn adds them to its own. If both have a command of the same
 * name, `readsDatabase` decides which one runs.
 */
export const operatorCommands: readonly cli.Command[] = [
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
