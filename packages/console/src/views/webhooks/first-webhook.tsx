import { Link } from '@tanstack/react-router';
import { jsonCurl } from '../../curl';
import { Empty } from '../../parts/empty';
import { MissingScopes } from '../../parts/forbidden';
import { TokenCommand } from '../../parts/token-command';
import { sendScopes, usePermission, useToken } from '../../permission';

/** Explains what a webhook does, and how to create the first one. */
export function FirstWebhook() {
  const may = usePermission();
  const token = useToken();
  const body = {
    organization_id: token.organization_id,
    url: 'https://example.com/webhooks',
    event_types: ['*'],
  };
  return (
    <Empty title="No webhooks yet">
      <p>
        A webhook sends each event that it subscribes to as a signed HTTP request to your URL, and retries it
        for hours if your receiver does not respond with 2xx.
        {may.send && ' All you need is a URL. The form shows code for a receiver.'}
      </p>
      {!may.send && (
        <p>
          This {token.portal ? 'session' : 'token'} cannot create one. <MissingScopes scopes={sendScopes} />
        </p>
      )}
      {may.send && (
        <>
          <p>
            <Link to="/webhooks/new" className="btn primary">
              New webhook
            </Link>
          </p>
          <TokenCommand
            title="Or from a terminal"
            command={(secret) =>
              jsonCurl(`'${location.origin}/v1/webhooks'`, `'Authorization: Bearer ${secret}'`, body)
            }
          />
        </>
      )}
    </Empty>
  );
}
