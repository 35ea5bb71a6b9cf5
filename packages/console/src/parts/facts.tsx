import type { ReactNode } from 'react';

/** A list of what there is to know about something, each with its name. */
export function Facts({ of }: { of: { name: ReactNode; is: ReactNode }[] }) {
  return (
    <dl className="facts">
      {of.map(({ name, is }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: facts keep their places
        <div key={index} className="facts-row">
          <dt>{name}</dt>
          <dd>{is}</dd>
        </div>
      ))}
    </dl>
  );
}
