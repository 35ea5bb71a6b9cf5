import type { Delivery } from '@posthorn/client';
import { Link } from '@tanstack/react-router';
import { Children, type ComponentProps, type ReactNode } from 'react';

type Rest = Pick<ComponentProps<'a'>, 'className' | 'title' | 'children'>;

export function WebhookLink({ id, tab, ...rest }: Rest & { id: string; tab?: string }) {
  return <Link to="/webhooks/$webhookId" params={{ webhookId: id }} search={tab ? { tab } : {}} {...rest} />;
}

export function DeliveryLink({
  of: { webhook_id: webhookId, id: deliveryId },
  ...rest
}: Rest & { of: Pick<Delivery, 'webhook_id' | 'id'> }) {
  return (
    <Link to="/webhooks/$webhookId/deliveries/$deliveryId" params={{ webhookId, deliveryId }} {...rest} />
  );
}

export function EventLink({ id, ...rest }: Rest & { id: string }) {
  return <Link to="/events/$eventId" params={{ eventId: id }} {...rest} />;
}

/** A breadcrumb: links to the parent pages. */
export function Breadcrumb({ children }: { children: ReactNode }) {
  return (
    <nav className="crumb" aria-label="Breadcrumb">
      {Children.toArray(children).map((part, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a breadcrumb keep their places
        <span key={index} className="cut">
          {index > 0 && <span aria-hidden>/&nbsp;</span>}
          {part}
        </span>
      ))}
    </nav>
  );
}
