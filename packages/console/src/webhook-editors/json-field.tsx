import type { PosthornError } from '@posthorn/client';
import { Fragment, type RefObject, useRef } from 'react';
import { lineOf } from '../code/json';
import { t } from '../text/language';

interface Fault {
  /** Where it is, as a JSON Pointer. */
  pointer: string;
  line?: number | undefined;
  detail: string;
}

/** Returns why a text is not JSON, in the words of the browser. Some browsers also say in which line. */
function syntaxFaultOf(text: string): Fault | undefined {
  if (text.trim() === '') return undefined;
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    const reason = (error as Error).message.replace(/^JSON\.parse: /, '');
    const line = /line (\d+)/.exec(reason)?.[1];
    return {
      pointer: '',
      line: line ? Number(line) : undefined,
      detail: t`This is not JSON: ${reason}.`,
    };
  }
}

/** Returns what the service says about a field of the request, with the line of each fault in its text. */
export function faultsIn(problem: PosthornError | undefined, field: string, text = ''): Fault[] {
  return (problem?.errors ?? [])
    .filter(({ pointer = '' }) => `${pointer}/`.startsWith(`/${field}/`))
    .map(({ pointer = '', detail }) => {
      const within = pointer.slice(field.length + 1);
      return { pointer: within, line: within ? lineOf(text, within) : undefined, detail };
    });
}

/** A field for JSON with numbered lines. What is wrong is marked at its line, and said below. */
export function JsonField({
  label,
  field,
  text,
  problem,
  onChange,
  ref,
}: {
  label: string;
  /** The field of the request that the problem is about. */
  field: string;
  text: string;
  problem: PosthornError | undefined;
  onChange: (text: string) => void;
  ref?: RefObject<HTMLTextAreaElement | null>;
}) {
  const own = useRef<HTMLTextAreaElement>(null);
  const area = ref ?? own;
  const wrong = syntaxFaultOf(text);
  const faults = wrong ? [wrong] : faultsIn(problem, field, text);
  const lines = text.split('\n');
  return (
    <div className="field">
      <div className="input json">
        <pre className="soft" aria-hidden="true">
          {lines.map((_, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: lines are numbered
            <Fragment key={index}>
              {faults.some(({ line }) => line === index + 1) ? (
                <b className="fault">{index + 1}</b>
              ) : (
                index + 1
              )}
              {'\n'}
            </Fragment>
          ))}
        </pre>
        <textarea
          ref={area}
          className="mono"
          aria-label={label}
          spellCheck={false}
          wrap="off"
          rows={lines.length}
          value={text}
          aria-invalid={faults.length > 0}
          onChange={(event) => onChange(event.target.value)}
        />
      </div>
      <JsonFaults
        faults={faults}
        onLine={(line) => {
          const start = lines.slice(0, line - 1).join('\n').length + Math.min(1, line - 1);
          area.current?.focus();
          area.current?.setSelectionRange(start, start + lines[line - 1]!.length);
        }}
      />
    </div>
  );
}

/** What is wrong with JSON, each with its place, and a way to go to its line. */
export function JsonFaults({ faults, onLine }: { faults: Fault[]; onLine?: (line: number) => void }) {
  if (faults.length === 0) return null;
  return (
    <div role="alert">
      <ul className="faults">
        {faults.map(({ pointer, line, detail }) => (
          <li key={`${pointer} ${detail}`} className="fault">
            {line && onLine && (
              <>
                <button type="button" className="link" onClick={() => onLine(line)}>
                  {t`Line ${line}`}
                </button>{' '}
              </>
            )}
            {pointer && <code>{pointer.slice(1)}</code>} {detail}
          </li>
        ))}
      </ul>
    </div>
  );
}
