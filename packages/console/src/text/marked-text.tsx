import { Fragment } from 'react';
import { useZone } from '../browser/preferences';
import { formatSecond } from './format';
import { splitAtTimes } from './sentence-times';

/** A sentence of the API about a failed attempt, with its times in the zone of the page, and in UTC on hover. */
export function WithTimes({ text }: { text: string }) {
  const shownZone = useZone();
  return (
    <>
      {splitAtTimes(text).map((part, index) =>
        typeof part === 'string' ? (
          part
        ) : (
          // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a text keep their places
          <time key={index} dateTime={part.at} title={part.text}>
            {formatSecond(Date.parse(part.at), shownZone)}
          </time>
        ),
      )}
    </>
  );
}

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
