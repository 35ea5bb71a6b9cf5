import type { PosthornError } from '@posthorn/client';
import type { Ref } from 'react';

/** Returns why a text is not JSON, in the words of the browser. */
function syntaxFaultOf(text: string): string | undefined {
  if (text.trim() === '') return undefined;
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    return `This is not JSON: ${(error as Error).message.replace(/^JSON\.parse: /, '')}.`;
  }
}

/** A field for JSON, with its syntax checked. */
export function JsonField({
  label,
  text,
  onChange,
  ref,
}: {
  label: string;
  text: string;
  onChange: (text: string) => void;
  ref?: Ref<HTMLTextAreaElement>;
}) {
  const fault = syntaxFaultOf(text);
  return (
    <div className="field">
      <textarea
        ref={ref}
        className="input mono json"
        aria-label={label}
        spellCheck={false}
        value={text}
        aria-invalid={fault !== undefined}
        onChange={(event) => onChange(event.target.value)}
      />
      {fault && (
        <span className="fault" role="alert">
          {fault}
        </span>
      )}
    </div>
  );
}

/** What the service says about a part of the request, each with its place. */
export function JsonFaults({ problem, field }: { problem: PosthornError | undefined; field: string }) {
  const faults = (problem?.errors ?? []).filter(({ pointer = '' }) => `${pointer}/`.startsWith(`/${field}/`));
  if (faults.length === 0) return null;
  return (
    <div role="alert">
      <ul className="faults">
        {faults.map(({ pointer = '', detail }) => (
          <li key={`${pointer} ${detail}`} className="fault">
            {pointer !== `/${field}` && <code>{pointer.slice(field.length + 2)}</code>} {detail}
          </li>
        ))}
      </ul>
    </div>
  );
}
