import { Forbidden } from '../../parts/forbidden';
import { WorkspaceNote } from '../../parts/workspace-note';
import { usePermission } from '../../permission';
import { DeliveryTable } from './delivery-table';

export function DeliveryList() {
  const may = usePermission();
  if (!may.readWebhooks) return <Forbidden action="see deliveries" scopes={['webhooks:read']} />;
  return (
    <>
      <h1>Deliveries</h1>
      <WorkspaceNote />
      <DeliveryTable />
    </>
  );
}
