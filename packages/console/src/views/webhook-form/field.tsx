import { type ReactNode, useId } from 'react';

interface InputProps {
  id: string;
  'aria-describedby': string;
  'aria-invalid': boolean;
}

/** A field of a form, with a hint, or what is wrong with it. */
export function Field({
  label,
  hint,
  fault,
  children,
}: {
  label: string;
  hint?: ReactNode;
  fault?: string | undefined;
  children: (props: InputProps) => ReactNode;
}) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children({ id, 'aria-describedby': `${id}-hint`, 'aria-invalid': fault !== undefined })}
      <span id={`${id}-hint`} className={fault ? 'fault' : 'hint'} role={fault ? 'alert' : undefined}>
        {fault ?? hint}
      </span>
    </div>
  );
}
