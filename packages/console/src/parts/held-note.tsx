import { Link } from '@tanstack/react-router';

/** In a row: the delivery waits until its webhook is verified. Links to the webhook, which says what to do. */
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
