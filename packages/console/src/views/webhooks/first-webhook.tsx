import { Link } from '@tanstack/react-router';
import { Empty } from '../../parts/empty';
import { usePermission } from '../../permission';

/** Shown where there is no webhook yet: what one does, and the way to the first. */
export function FirstWebhook() {
  const may = usePermission();
  return (
    <Empty
      title="No webhooks yet"
      actions={
        may.send && (
          <Link to="/webhooks/new" className="btn primary">
            New webhook
          </Link>
        )
      }
    >
      <p>
        A webhook sends each event that it subscribes to as a signed HTTP request to your URL, and tries again
        until your receiver responds with 2xx.
        {may.send && ' You need a URL; the form has the code for the receiver.'}
      </p>
    </Empty>
  );
}
