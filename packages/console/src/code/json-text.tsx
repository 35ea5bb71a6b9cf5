import { useSearch } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { useSetSearch } from '../address/search';
import { Button, Segmented } from '../parts/button';
import { formatCount } from '../text/format';
import { t } from '../text/language';
import { CodeBlock } from './code-block';
import { type Piece, prettyJson } from './json';

/** The choice between a body laid out for people and its exact bytes. It is kept in the URL as `text`. */
export function PrettySwitch({ label }: { label: string }) {
  const set = useSetSearch({ replace: true });
  return (
    <Segmented
      label={label}
      choices={[
        { key: 'pretty', label: t`Pretty` },
        { key: 'raw', label: t`Raw` },
      ]}
      value={useIsRaw() ? 'raw' : 'pretty'}
      onChange={(text) => set({ text: text === 'raw' ? text : undefined })}
    />
  );
}

export const useIsRaw = () => useSearch({ strict: false, select: ({ text }) => text === 'raw' });

/** How many characters are shown at first. */
const shownAtFirst = 50_000;

/** The time that React takes to add elements to a parent grows with the square of their number. */
const piecesPerParent = 500;

/**
 * JSON with indentation and colors. Text that is not JSON, and raw text, is shown as it is. Shows the start of a long
 * text, and more on request: with all of a megabyte, the page would stop responding.
 */
export function JsonText({ text, isRaw = false }: { text: string; isRaw?: boolean }) {
  const [shownMax, setShownMax] = useState(shownAtFirst);
  const end = Math.min(shownMax, text.length);
  const pieces = useMemo(() => (isRaw ? undefined : prettyJson(text, end)), [text, isRaw, end]);
  return (
    <>
      {pieces ? <Pieces pieces={pieces} /> : text.slice(0, end)}
      {end < text.length && (
        <span className="cut-off">
          <Button kind="slim" onClick={() => setShownMax(shownMax * 4)}>{t`Show more`}</Button>
          <span className="soft">{t`Showing ${formatCount(end)} of ${formatCount(text.length)} characters. The copy button copies all of them.`}</span>
        </span>
      )}
    </>
  );
}

/** JSON in a box, with a button that copies it. */
export function JsonBlock({
  isRaw = false,
  ...block
}: Parameters<typeof CodeBlock>[0] & { isRaw?: boolean }) {
  return (
    <CodeBlock {...block}>
      <JsonText text={block.text} isRaw={isRaw} />
    </CodeBlock>
  );
}

function Pieces({ pieces }: { pieces: readonly Piece[] }) {
  const groups = Array.from({ length: Math.ceil(pieces.length / piecesPerParent) }, (_, group) =>
    pieces.slice(group * piecesPerParent, (group + 1) * piecesPerParent),
  );
  return groups.map((group, at) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the pieces of a text have no other identity
    <span key={at}>
      {group.map(({ kind, text }, index) =>
        kind === 'mark' || kind === 'space' ? (
          text
        ) : (
          // biome-ignore lint/suspicious/noArrayIndexKey: as above
          <span key={index} className={`t-${kind}`}>
            {text}
          </span>
        ),
      )}
    </span>
  ));
}
