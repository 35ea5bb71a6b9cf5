import type { ComponentProps } from 'react';

type Kind = 'primary' | 'danger' | 'slim' | 'danger primary';

export function Button({ kind, ...rest }: ComponentProps<'button'> & { kind?: Kind | undefined }) {
  return <button type="button" className={kind ? `btn ${kind}` : 'btn'} {...rest} />;
}

/** A segmented control: a few choices, of which one is selected. */
export function Segmented<K extends string>({
  label,
  choices,
  value,
  onChange,
}: {
  label: string;
  /** With how many there are, if that is known. */
  choices: readonly { key: K; label: string; count?: string | undefined }[];
  value: K | undefined;
  /** Undefined if the choice is fixed. */
  onChange: ((key: K) => void) | undefined;
}) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset cannot be laid out in a line
    <div className="seg" role="group" aria-label={label}>
      {choices.map((choice) => (
        <button
          key={choice.key}
          type="button"
          aria-pressed={choice.key === value}
          disabled={!onChange}
          onClick={() => onChange?.(choice.key)}
        >
          {choice.label}
          {choice.count !== undefined && <span className="soft">{choice.count}</span>}
        </button>
      ))}
    </div>
  );
}
