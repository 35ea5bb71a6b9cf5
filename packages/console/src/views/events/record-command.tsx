import { jsonCurl } from '../../curl';
import { CodeBlock } from '../../parts/code-block';
import { useToken } from '../../permission';

/**
 * The command that records an event after `npm start`. It reads the platform token from the file that `npm
 * start` created, because the console's token cannot record events.
 */
export function RecordCommand() {
  const token = useToken();
  const event = {
    type: 'invoice.paid',
    organization_id: token.organization_id,
    ...(token.workspace_id && { workspace_id: token.workspace_id }),
    actor: { type: 'user', id: 'USR-ada' },
    subject: { type: 'invoice', id: 'INV-2042' },
    payload: { id: 'INV-2042', amount_minor: 1249900, currency: 'EUR' },
  };
  const command = jsonCurl(
    'http://127.0.0.1:7401/platform/events',
    '"Authorization: Bearer $(cat .posthorn/platform-token)"',
    event,
  );
  return <CodeBlock title="Record an event" text={command} what="the command" />;
}
