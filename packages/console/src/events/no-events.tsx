import { useQuery } from '@tanstack/react-query';
import { eventTypesQuery, exampleType } from '../api/events';
import { productName, useSettings } from '../api/settings';
import { CodeBlock } from '../code/code-block';
import { jsonCurl } from '../code/curl';
import { Empty } from '../parts/states';
import { usePermission, useToken } from '../session/token';
import { rich, t } from '../text/language';

/** Shows how to record the first event. */
export function NoEvents() {
  const token = useToken();
  const settings = useSettings();
  return (
    <Empty title={t`No events yet`}>
      <p>
        {token.portal
          ? t`Events appear here when something happens in ${productName(settings)}.`
          : rich`The platform records events through its own listener. After ${<code>npm start</code>}, run this in the same directory to record the first event. If your platform listener has a different address or token, change it in the command. Turn on Live to see the event arrive.`}
      </p>
      {!token.portal && <RecordCommand />}
    </Empty>
  );
}

/**
 * The command that records an event after `npm start`. It reads the platform token from the file that `npm
 * start` created, because the console's token cannot record events.
 */
export function RecordCommand() {
  const token = useToken();
  const { data: types } = useQuery({ ...eventTypesQuery, enabled: usePermission().readEvents });
  const { type = 'invoice.paid', sample = {} } = exampleType(types) ?? {};
  const isBuiltin = type === 'invoice.paid';
  const event = {
    type,
    organization_id: token.organization_id,
    ...(token.workspace_id && { workspace_id: token.workspace_id }),
    actor: { type: 'user', id: 'USR-ada' },
    subject: isBuiltin
      ? { type: 'invoice', id: 'INV-2042' }
      : { type: type.split('.').at(-2), id: String(sample.id ?? 'ID-1') },
    payload: isBuiltin ? { id: 'INV-2042', amount_minor: 1249900, currency: 'EUR' } : sample,
  };
  const isKnown = isDefaultAddress(location);
  const command = jsonCurl(
    isKnown ? "'http://127.0.0.1:7401/platform/events'" : '"$PLATFORM_URL/platform/events"',
    '"Authorization: Bearer $(cat .posthorn/platform-token)"',
    event,
  );
  return (
    <>
      {!isKnown && (
        <p>{rich`First set ${<code>PLATFORM_URL</code>} to the address of the platform listener, such as ${<code>http://127.0.0.1:7401</code>}.`}</p>
      )}
      <CodeBlock title={t`Record an event`} text={command} what={t`the command`} />
    </>
  );
}

/**
 * Returns whether the console is at the address that it has after `npm start`. Only then is the address of the platform
 * listener known. Another service could be listening there, and would get the token.
 */
function isDefaultAddress({ hostname, port }: Location): boolean {
  return port === '7400' && ['127.0.0.1', 'localhost', '[::1]'].includes(hostname);
}
