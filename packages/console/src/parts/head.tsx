import { Children, type ReactNode } from 'react';
import { shortId } from '../text/identifier';
import { t } from '../text/language';
import { copyText } from './copy';

/** A breadcrumb: links to the parent pages. */
export function Breadcrumb({ children }: { children: ReactNode }) {
  return (
    <nav className="crumb soft small" aria-label={t`Breadcrumb`}>
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

/** An identifier, shortened in the middle. A click copies all of it. */
export function Identifier({ id }: { id: string }) {
  return (
    <button
      type="button"
      className="pick mono soft above"
      title={t`${id} (click to copy)`}
      onClick={() => copyText(id, id)}
    >
      {shortId(id)}
    </button>
  );
}
