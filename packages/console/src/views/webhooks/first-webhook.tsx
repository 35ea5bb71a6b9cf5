import { Link } from '@tanstack/react-router';
import { CodeBlock } from '../../parts/code-block';
import { Empty } from '../../parts/empty';
import { usePermission, useToken } from '../../permission';

/** Shown where there is no webhook yet: what one does, and the way to the first. */
export function FirstWebhook() {
  const may = usePermission();
  const token = useToken();
  const body = {
    organization_id: token.organization_id,
    url: 'https://example.com/webhooks',
    event_types: ['*'],
  };
  const command = `curl ${location.origin}/v1/webhooks \\
  -H "Authorization: Bearer $POSTHORN_TOKEN" \\
  -H 'Content-Type: application/json' \\
  -d '${JSON.stringify(body)}'`;
  return (
    <Empty title="No webhooks yet">
      <p>
        A webhook sends each event that it subscribes to as a signed HTTP request to your URL, and tries again
        until your receiver responds with 2xx.
        {may.send && ' You need a URL; the form has the code for the receiver.'}
      </p>
      {may.send && (
        <>
          <p>
            <Link to="/webhooks/new" className="btn primary">
              New webhook
            </Link>
          </p>
          <CodeBlock title="Or from a terminal" text={command} what="the command" />
        </>
      )}
    </Empty>
  );
}
