import { once } from 'node:events';
import { PosthornError } from '@posthorn/client';
import { type Command, exitCodeOf } from '../command.js';
import { type Connection, connect, connectionOptions } from '../connection.js';
import { failureText } from '../failure.js';
import { indentedJson } from '../indented-json.js';
import { type Tool, tools } from '../mcp-tools.js';
import { untilStopped } from '../stopping.js';
import { version } from '../version.js';

export const mcp: Command = {
  name: 'mcp',
  summary:
    'Run a Model Context Protocol (MCP) server on standard input and output, so that a coding agent can find out why a webhook fails.',
  options: {
    'allow-writes': {
      description: 'Also offer the tools that send events: test_webhook, redeliver and replay.',
    },
    ...connectionOptions,
  },
  run: async (context) => {
    const connection = await connect(context);
    // Loaded only here: the SDK takes longer to load than most commands take to run.
    const [{ McpServer, fromJsonSchema }, { serveStdio }] = await Promise.all([
      import('@modelcontextprotocol/server'),
      import('@modelcontextprotocol/server/stdio'),
    ]);
    const offered = tools.filter(({ writes }) => !writes || context.options['allow-writes']);
    const handle = serveStdio(() => {
      const server = new McpServer({ name: 'posthorn', version }, { capabilities: { tools: {} } });
      for (const tool of offered) {
        const { name, title, description, writes } = tool;
        const inputSchema = fromJsonSchema<Record<string, unknown>>(tool.schema as never);
        const annotations = { readOnlyHint: !writes, destructiveHint: false, openWorldHint: writes };
        server.registerTool(name, { title, description, inputSchema, annotations }, (args) =>
          call(tool, connection, args),
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
};

async function call(tool: Tool, connection: Connection, args: Record<string, unknown>) {
  try {
    const result = await tool.run(connection, args);
    return textResult(typeof result === 'string' ? result : indentedJson(connection.texts.of(result)));
  } catch (error) {
    if (error instanceof PosthornError)
      return { ...textResult(failureText(error, mcp, connection.tokenSource)), isError: true };
    if (exitCodeOf(error) === undefined) throw error;
    return { ...textResult((error as Error).message), isError: true };
  }
}

function textResult(text: string) {
  return { content: [{ type: 'text' as const, text }] };
}
