import { Children, type ReactNode } from 'react';

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
