import { Fragment } from 'react';

/** An event type that may be broken after its dots and underscores. */
export function TypeName({ type }: { type: string }) {
  return type.split(/(?<=[._])/).map((part, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a name keep their places
    <Fragment key={index}>
      {part}
      <wbr />
    </Fragment>
  ));
}
