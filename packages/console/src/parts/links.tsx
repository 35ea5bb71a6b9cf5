import type { Delivery } from '@posthorn/client';
import { Link } from '@tanstack/react-router';
import type { ComponentProps, MouseEvent } from 'react';

type Rest = Pick<ComponentProps<'a'>, 'className' | 'title' | 'children' | 'aria-current'> & {
  onClick?: (event: MouseEvent<HTMLAnchorElement>) => void;
};

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
