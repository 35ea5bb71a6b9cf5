import { useBlocker } from '@tanstack/react-router';
import { useEffect } from 'react';
import { Confirm } from '../parts/confirm';
import { forgetInput, keepInput } from '../session/kept-input';
import { session, tokenOf } from '../session/session';
import { useToken } from '../session/token';
import { t } from '../text/language';

/**
 * Asks before values that were typed into a form are lost: in a dialog before another view or tab of the console opens,
 * and in the browser's own dialog before the page is left. If the session ends, it keeps them for the next one: see
 * `keptInput`. Must not be inside the form, because the form would get the dialog's submit event, too.
 */
export function Unsaved({
  form,
  values,
  isChanged,
  children,
}: {
  form: string;
  values: unknown;
  isChanged: boolean;
  children: string;
}) {
  const token = useToken();
  // The form now contains the kept values.
  useEffect(() => forgetInput(form), [form]);
  useEffect(() => {
    const now = tokenOf(session.get());
    return session.subscribe(() => {
      const next = session.get();
      if (isChanged && next.kind !== 'none' && tokenOf(next) !== now) keepInput(form, token, values);
    });
  }, [form, token, values, isChanged]);
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
      title={t`Leave without saving?`}
      action={t`Leave`}
      cancel={t`Keep editing`}
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
