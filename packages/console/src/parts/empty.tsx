import type { ReactNode } from 'react';

/** Says what to do when there is nothing to show yet. */
export function Empty({
  title,
  isPage = false,
  children,
  actions,
}: {
  title: string;
  /** Whether there is nothing else on the page. */
  isPage?: boolean;
  children: ReactNode;
  actions?: ReactNode;
}) {
  return (
    <section className={isPage ? 'empty page' : 'empty'}>
      {isPage ? <h1>{title}</h1> : <h2>{title}</h2>}
      {children}
      {actions && <div className="actions">{actions}</div>}
    </section>
  );
}
