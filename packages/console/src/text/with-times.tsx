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
