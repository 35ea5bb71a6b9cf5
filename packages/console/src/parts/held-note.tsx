import { Link } from '@tanstack/react-router';

/**
 * A note in a row: the delivery is waiting until its webhook is verified. Links to the webhook's page, which says what
 * to do.
 */
export function HeldNote({ webhookId }: { webhookId: string }) {
  return (
    <span className="second">
      <Link
        to="/webhooks/$webhookId"
        params={{ webhookId }}
        className="link above"
        title="The delivery is waiting until the webhook is verified."
      >
        waiting for verification
      </Link>
    </span>
  );
}
