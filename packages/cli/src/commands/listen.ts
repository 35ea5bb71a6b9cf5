import type { Event } from '@posthorn/client';
import { type SigningKey, signingKey } from '@posthorn/receiver';
import { invalid, sets, shellWord } from '../command.js';
import { type ApiContext, apiCommand } from '../connection.js';
import { EventPatterns, onlyEvents } from '../event-pattern.js';
import { type ForwardResult, forward, forwardedJson, isAccepted, targetUrl } from '../forward.js';
import { type Listener, ListenPosition, signingSecret } from '../listen-state.js';
import { jsonLines } from '../listing.js';
import { responseText } from '../response-text.js';
import { untilStopped } from '../stopping.js';
import { formatOption, requestText, saveRequest, webhookRequest } from '../webhook-request.js';
import { tailLine } from './events.js';

export const listen = apiCommand({
  name: 'listen',
  summary:
    'Follow new events and forward them to your machine, signed as the service signs them. Press Ctrl-C to stop. The next run continues after the last event.',
  options: {
    'forward-to': sets(
      'target',
      'URL',
      'Send every event to this URL, such as http://localhost:3000/hooks.',
      targetUrl,
    ),
    events: { value: 'a,b', description: onlyEvents },
    workspace: sets('workspace_id', 'WS-x', 'Only events from this workspace.'),
    secret: {
      value: 'secret',
      description:
        'Sign with this secret. Environment: POSTHORN_WEBHOOK_SECRET. Without either, a secret is generated, printed and ' +
        'kept for the next run.',
    },
    from: {
      value: 'now|id',
      choices: ['now'],
      description: 'Start now, or after this event, instead of where the last run ended.',
    },
    format: formatOption,
    print: { description: 'Print every request with its headers and body.' },
    save: {
      value: 'dir',
      description: 'Save every request in this directory, for posthorn verify --request.',
    },
    json: jsonLines,
  },
  run: async (context) => {
    const { options, env, terminal, posthorn, fields } = context;
    const target: URL | undefined = fields.target;
    const events = new EventPatterns(options.events);
    await events.check(posthorn);
    const { organization_id, workspace_id } = await posthorn.token();
    const follows = {
      url: context.url,
      organization: organization_id,
      workspace: options.workspace ?? workspace_id,
      events: events.patterns,
      target: target?.href ?? null,
    };
    const position = new ListenPosition(env, follows);
    const start = startOf(options.from, position);
    const secret = await signingSecret(options, env);
    const key = signingKey(secret);
    if (!options.json) {
      if (start !== undefined)
        terminal.line(`Continuing after ${start}. Use --from now to skip the events that were missed.`);
      terminal.line(`Signing secret: ${secret}`);
    }
    await untilStopped(context, async (signal) => {
      const query = { organization_id, workspace_id: fields.workspace_id, type: events.onlyType };
      const tail = posthorn.events.tail(query, {
        signal,
        lastEventId: start,
        onConnect: () => {
          // Store the start as well: after a run that stops before its first event, the next run continues from here.
          if (tail.lastEventId !== undefined) position.write(tail.lastEventId);
          if (!options.json) terminal.hint(listeningLine(follows));
        },
        onDisconnect: (_error, waitMs) => {
          const seconds = Math.ceil(waitMs / 1000);
          if (!options.json) terminal.hint(`Connection lost. Reconnecting in ${seconds} s.`);
        },
      });
      for await (const event of tail) {
        if (events.matches(event.type)) await handle(context, event, key, target);
        // If the reader has gone away, the next run prints the event again.
        if (!(await terminal.written())) break;
        position.write(event.id);
        // Leave events that have already arrived to the next run.
        if (signal.aborted) break;
      }
    });
  },
});

function listeningLine({ url, organization, events, target }: Listener): string {
  const what = events.length === 0 ? 'all events' : events.join(', ');
  return `Listening for ${what} in ${organization} at ${url}${target === null ? '' : `, forwarding to ${target}`}.`;
}

/** Returns the event after which to start; undefined to start now. */
function startOf(from: string | undefined, position: ListenPosition): string | undefined {
  if (from === undefined) return position.read();
  if (from === 'now') return undefined;
  if (/^EVT-[0-7][0-9A-HJKMNP-TV-Z]{25}$/.test(from)) return from;
  throw invalid('from', from, 'now or an event ID such as EVT-01JAB3C4D5E6F7G8H9J0K1M2N3');
}

/** As wide as the time at the start of a line. */
const indent = ' '.repeat(11);

/** Forwards an event, and prints the result. */
async function handle(context: ApiContext, event: Event, key: SigningKey, target?: URL): Promise<void> {
  const { options, terminal, texts, fields } = context;
  const how = { format: fields.format, key, now: new Date() };
  const request = webhookRequest(event, texts.payloadOf(event), how);
  const text = requestText(target, request);
  const file = options.save === undefined ? undefined : await saveRequest(options.save, event.id, text);
  const result = target && (await forward(target, request));
  if (options.json) {
    const { id: event_id, type, created_at } = event;
    const sent = result && forwardedJson(target, result);
    terminal.line(JSON.stringify({ event_id, type, created_at, ...sent, file }));
    return;
  }
  if (result) printResultOf(context, event, target, result);
  else terminal.line(tailLine(event, terminal));
  if (options.print) terminal.line(`${text.replaceAll('\r\n', '\n')}\n`);
}

function printResultOf({ options, terminal }: ApiContext, event: Event, target: URL, result: ForwardResult) {
  const isGood = isAccepted(result);
  const outcome = result.status === null ? 'no response' : String(result.status);
  const time = terminal.paint('dim', `${event.created_at.slice(11, 19)}Z`);
  const verdict = terminal.paint(isGood ? 'green' : 'red', `${outcome} in ${result.durationMs} ms`);
  terminal.line(`${time}  ${terminal.paint('cyan', event.type.padEnd(23))}  ${event.id}  ${verdict}`);
  if (isGood) return;
  const said = failureText(result);
  if (said !== '') terminal.line(`${indent}${said.replaceAll('\n', `\n${indent}`)}`);
  const again = ['posthorn', 'trigger', event.id, '--to', target.href];
  for (const name of ['secret', 'format', 'profile', 'url'])
    if (options[name] !== undefined) again.push(`--${name}`, options[name]);
  terminal.hint(`${indent}Send it again: ${again.map(shellWord).join(' ')}`);
}

function failureText({ failure, location, response }: ForwardResult): string {
  if (failure) return `${failure.error}. ${failure.remedy}`;
  return location === null
    ? responseText(response)
    : `The receiver redirects to ${location}. Redirects are not followed.`;
}
