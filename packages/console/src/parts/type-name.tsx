import { Fragment } from 'react';

/** An event type that may be broken after its dots. */
export function TypeName({ type }: { type: string }) {
  const [first, ...rest] = type.split('.');
  return (
    <>
      {first}
      {rest.map((part, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a name keep their places
        <Fragment key={index}>
          .<wbr />
          {part}
        </Fragment>
      ))}
    </>
  );
}
