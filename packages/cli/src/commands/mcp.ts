import { once } from 'node:events';
import { PosthornError } from '@posthorn/client';
import { type Command, exitCodeOf, type Fields } from '../command.js';
import { type ApiContext, apiCommand, withIds } from '../connection.js';
import { failureText } from '../failure.js';
import { indentedJson } from '../json-text.js';
import { instantOf } from '../listing.js';
import { inToolWords, type Tool, tools } from '../mcp-tools.js';
import { untilStopped } from '../stopping.js';
import { version } from '../version.js';

export const mcp: Command = apiCommand({
  name: 'mcp',
  summary:
    'Run a Model Context Protocol (MCP) server on standard input and output, so that a coding agent can find out why a webhook fails.',
  options: {
    'allow-writes': {
      description:
        'Also offer the tools that send requests: verify_webhook, test_webhook, redeliver and replay.',
    },
  },
  run: async (context) => {
    // Loaded only here: the SDK takes longer to load than most commands take to run.
    const [{ McpServer, fromJsonSchema }, { serveStdio }] = await Promise.all([
      import('@modelcontextprotocol/server'),
      import('@modelcontextprotocol/server/stdio'),
    ]);
    const offered = tools.filter(({ writes }) => !writes || context.options['allow-writes']);
    const handle = serveStdio(() => {
      const server = new McpServer(
        { name: 'posthorn', version },
        { capabilities: { tools: {} }, instructions },
      );
      for (const tool of offered) {
        const { name, title, description, needs = {}, takes, writes = false } = tool;
        const properties = { ...needs, ...takes };
        const schema = {
          type: 'object',
          properties,
          required: Object.keys(needs),
          additionalProperties: false,
        };
        const inputSchema = fromJsonSchema<Fields>(schema as never);
        const annotations = { readOnlyHint: !writes, destructiveHint: false, openWorldHint: writes };
        server.registerTool(name, { title, description, inputSchema, annotations }, (args) =>
          call(tool, context, args),
        );
      }
      return server;
    });
    await untilStopped(context, async (signal) => {
      // The agent ends the connection by closing standard input.
      await Promise.race([once(context.input, 'close', { signal }), once(context.input, 'end', { signal })]);
    });
    await handle.close();
  },
});

async function call(tool: Tool, context: ApiContext, args: Fields) {
  try {
    const edges = ['from', 'to'].filter((edge) => edge in args).map((edge) => [edge, instantOf(args[edge])]);
    const given = await withIds(context, { ...args, ...Object.fromEntries(edges) });
    const result = await tool.run(context, given);
    return textResult(typeof result === 'string' ? result : indentedJson(context.texts.of(result)));
  } catch (error) {
    if (error instanceof PosthornError)
      return { ...textResult(problemText(error, tool, context)), isError: true };
    if (exitCodeOf(error) === undefined) throw error;
    return { ...textResult(inToolWords((error as Error).message)), isError: true };
  }
}

const instructions =
  'Posthorn records what happens on a platform as events, and delivers each event to the webhooks that subscribe to ' +
  'its type. A delivery is one event for one webhook, with every attempt to send it. To find out why a webhook fails, ' +
  'call list_webhooks, then list_deliveries with status failed, then explain_delivery. To find out what came of an ' +
  'event, call get_event. IDs can be shortened to a unique ending. Lists return {items, has_more, cursor}: while ' +
  'has_more is true, call the tool again with the cursor. Tools that send requests (verify_webhook, test_webhook, ' +
  'redeliver, replay) are offered only if the server was started with --allow-writes.';

/** Returns a failed request in the words of the tool: the names of its arguments, and other tools. */
function problemText(error: PosthornError, { name }: Tool, { tokenSource }: ApiContext): string {
  if (error.errors.length === 0) return inToolWords(failureText(error, mcp, tokenSource));
  const lines = error.errors.map(
    ({ parameter, pointer = '', detail }) => `${parameter ?? pointer.slice(1)}: ${detail}`,
  );
  return [...lines, `Correct the arguments, then call ${name} again.`].join('\n');
}

function textResult(text: string) {
  return { content: [{ type: 'text' as const, text }] };
}
