import type { ComponentProps } from 'react';

type Kind = 'primary' | 'danger' | 'slim' | 'danger primary';

export function Button({ kind, ...rest }: ComponentProps<'button'> & { kind?: Kind }) {
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
  choices: readonly { key: K; label: string }[];
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
        </button>
      ))}
    </div>
  );
}
