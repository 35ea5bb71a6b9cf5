import { CodeBlock } from '../../parts/code-block';
import { Empty } from '../../parts/empty';
import { useToken } from '../../permission';
import { productName, useSettings } from '../../settings';

/** Shown before the first event: how one is recorded. */
export function NoEvents() {
  const token = useToken();
  const settings = useSettings();
  if (token.portal) {
    return (
      <Empty title="No events yet">
        <p>
          Events appear here when something happens in {productName(settings)}: an invoice is paid, a run
          completes.
        </p>
      </Empty>
    );
  }
  const event = {
    type: 'invoice.paid',
    organization_id: token.organization_id,
    ...(token.workspace_id && { workspace_id: token.workspace_id }),
    actor: { type: 'user', id: 'USR-ada' },
    subject: { type: 'invoice', id: 'INV-2042' },
    payload: { id: 'INV-2042', amount_minor: 1249900, currency: 'EUR' },
  };
  const command = `curl http://127.0.0.1:7401/platform/events \\
  -H "Authorization: Bearer $(cat .posthorn/platform-token)" \\
  -H 'Content-Type: application/json' \\
  -d '${JSON.stringify(event)}'`;
  return (
    <Empty title="No events yet">
      <p>
        The platform records events on its own listener. After <code>npm start</code>, this records the first
        one from the same directory. Turn on Live to see it arrive.
      </p>
      <CodeBlock title="Record an event" text={command} what="the command" />
    </Empty>
  );
}
