import { type ComponentProps, type ReactNode, useId } from 'react';

/** A form that is not sent as a page. In React, its event would also reach a form that contains the dialog with it. */
export function Form({
  onSubmit,
  ...rest
}: Omit<ComponentProps<'form'>, 'onSubmit'> & { onSubmit: () => void }) {
  return (
    <form
      {...rest}
      onSubmit={(event) => {
        event.preventDefault();
        event.stopPropagation();
        onSubmit();
      }}
    />
  );
}

/** A text field with its label and a hint, or what is wrong with it. */
export function Field({
  label,
  hint,
  fault,
  className = '',
  ...input
}: ComponentProps<'input'> & { label: string; hint: ReactNode; fault?: string | undefined }) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        className={`input ${className}`}
        aria-describedby={`${id}-hint`}
        aria-invalid={fault !== undefined}
        {...input}
      />
      <Remark id={`${id}-hint`} fault={fault} hint={hint} />
    </div>
  );
}

/** What is wrong with a field, or else a hint. */
export function Remark({ id, fault, hint }: { id?: string; fault: string | undefined; hint?: ReactNode }) {
  const text = fault ?? hint;
  return (
    text && (
      <span id={id} className={fault ? 'fault' : 'hint'} role={fault ? 'alert' : undefined}>
        {text}
      </span>
    )
  );
}

/** A checkbox with its label. */
export function Check({
  className = '',
  onChange,
  children,
  ...box
}: Omit<ComponentProps<'input'>, 'onChange'> & { onChange: (isOn: boolean) => void }) {
  return (
    <label className={`check ${className}`}>
      <input type="checkbox" {...box} onChange={(event) => onChange(event.target.checked)} />
      <span>{children}</span>
    </label>
  );
}
