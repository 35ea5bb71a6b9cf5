import type { ReactNode } from 'react';
import { t } from '../text/language';

type Path = readonly (string | number)[];

/** How many values are shown: each is a button. */
const shownMax = 200;

/** An event as JSON whose values are buttons. */
export function EventTree({
  event,
  label,
  onPick,
  canPick,
}: {
  event: object;
  /** What picking a value does, such as `Add a condition on`. */
  label: string;
  onPick: (path: Path, value: unknown) => void;
  canPick: (path: Path, value: unknown) => boolean;
}) {
  let count = 0;
  const linesOf = (value: unknown, path: Path, comma: string): ReactNode[] => {
    count += 1;
    if (count > shownMax) return [];
    const name = path.at(-1);
    const isContainer = typeof value === 'object' && value !== null;
    const isList = Array.isArray(value);
    const entries = isContainer ? Object.entries(value) : [];
    const [open, close] = isList ? '[]' : '{}';
    const head = typeof name === 'string' && <span className="t-key">{JSON.stringify(name)}</span>;
    const text = isContainer ? (
      entries.length === 0 && `${open}${close}`
    ) : (
      <span className={`t-${typeof value === 'string' ? 'string' : 'number'}`}>{JSON.stringify(value)}</span>
    );
    const line = (
      <>
        {head}
        {head && ': '}
        {text || open}
      </>
    );
    const at = path.join('.');
    return [
      <div key={at} style={{ paddingLeft: `${path.length * 14}px` }}>
        {canPick(path, value) ? (
          <button type="button" onClick={() => onPick(path, value)}>
            <span className="hidden-visually">{`${label} ${at}: `}</span>
            {line}
          </button>
        ) : (
          line
        )}
        {text && comma}
      </div>,
      ...(text
        ? []
        : [
            ...entries.flatMap(([key, inner], index) =>
              linesOf(inner, [...path, isList ? index : key], index < entries.length - 1 ? ',' : ''),
            ),
            <div key={`${at} end`} style={{ paddingLeft: `${path.length * 14}px` }}>
              {close}
              {comma}
            </div>,
          ]),
    ];
  };
  const lines = linesOf(event, [], '');
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section className="code event-tree" tabIndex={0} aria-label={t`Event`}>
      {lines}
      {count > shownMax && <p className="soft">{t`The first ${shownMax} values are shown.`}</p>}
    </section>
  );
}
