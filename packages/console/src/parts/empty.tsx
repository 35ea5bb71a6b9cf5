import type { ReactNode } from 'react';

/** Says what to do when there is nothing to show yet. */
export function Empty({
  title,
  children,
  actions,
}: {
  title: string;
  children: ReactNode;
  actions?: ReactNode;
}) {
  return (
    <section className="empty">
      <h2>{title}</h2>
      {children}
      {actions && <div className="actions">{actions}</div>}
    </section>
  );
}
