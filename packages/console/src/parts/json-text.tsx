import { useMemo } from 'react';
import { prettyJson } from '../json/pretty';

/** JSON with indentation and colors, or plain text if it is not JSON. */
export function JsonText({ text }: { text: string }) {
  const pieces = useMemo(() => prettyJson(text), [text]);
  if (!pieces) return <>{text}</>;
  return (
    <>
      {pieces.map(({ kind, text: piece }, index) =>
        kind === 'mark' || kind === 'space' ? (
          piece
        ) : (
          // biome-ignore lint/suspicious/noArrayIndexKey: the pieces of a text have no other identity
          <span key={index} className={`t-${kind}`}>
            {piece}
          </span>
        ),
      )}
    </>
  );
}
