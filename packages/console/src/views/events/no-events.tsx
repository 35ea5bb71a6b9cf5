import { Empty } from '../../parts/empty';
import { useToken } from '../../permission';
import { productName, useSettings } from '../../settings';
import { RecordCommand } from './record-command';

/** Shows how to record the first event. */
export function NoEvents() {
  const token = useToken();
  const settings = useSettings();
  if (token.portal) {
    return (
      <Empty title="No events yet">
        <p>
          Events appear here when something happens in {productName(settings)}, such as when an invoice is
          paid or a run completes.
        </p>
      </Empty>
    );
  }
  return (
    <Empty title="No events yet">
      <p>
        The platform records events through its own listener. After <code>npm start</code>, run this in the
        same directory to record the first event. If your platform listener has a different address or token,
        change it in the command. Turn on Live to see the event arrive.
      </p>
      <RecordCommand />
    </Empty>
  );
}
