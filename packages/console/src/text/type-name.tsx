import { Fragment } from 'react';

/** Text from the API document, in which backticks mark code. */
export function WithCode({ text }: { text: string }) {
  return (
    <>
      {text.split('`').map((part, index) =>
        index % 2 === 1 ? (
          // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a text keep their places
          <code key={index}>{part}</code>
        ) : (
          part
        ),
      )}
    </>
  );
}

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
