import type { ReactNode } from 'react';
import { WithTimes } from '../text/time';

/** How something is, in bold, and below that what to do about it. */
export function Note({
  kind = '',
  role,
  title,
  children,
  actions,
}: {
  /** Without one, it is a failure. */
  kind?: 'ok' | 'warn' | 'calm' | '';
  role?: 'alert' | 'status';
  title: ReactNode;
  children?: ReactNode;
  actions?: ReactNode;
}) {
  return (
    <div className={`note ${kind}`} role={role}>
      <b>{typeof title === 'string' ? <WithTimes text={title} /> : title}</b>
      {children}
      {actions && <div className="actions">{actions}</div>}
    </div>
  );
}
