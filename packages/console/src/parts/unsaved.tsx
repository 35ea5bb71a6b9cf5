import { useBlocker } from '@tanstack/react-router';
import { Confirm } from './confirm';

/**
 * Asks before values that were typed into a form are lost: in a dialog before another view or tab of the console opens,
 * and in the browser's own dialog before the page is left. Must not be inside the form, because the form would get the
 * dialog's submit event, too.
 */
export function Unsaved({ isChanged, children }: { isChanged: boolean; children: string }) {
  const blocked = useBlocker({
    shouldBlockFn: ({ current, next }) =>
      // Other parameters, such as live mode, keep the form open.
      current.pathname !== next.pathname || tabOf(current.search) !== tabOf(next.search),
    disabled: !isChanged,
    withResolver: true,
  });
  return (
    <Confirm
      isOpen={blocked.status === 'blocked'}
      onClose={() => blocked.reset?.()}
      title="Leave without saving?"
      action="Leave"
      cancel="Keep editing"
      isDanger
      isBusy={false}
      error={undefined}
      onConfirm={() => blocked.proceed?.()}
    >
      <p>{children}</p>
    </Confirm>
  );
}

const tabOf = (search: object) => (search as { tab?: string }).tab;
