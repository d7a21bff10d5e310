import { type ComponentProps, type ReactNode, useId } from 'react';

interface FieldProps {
  readonly label: string;
  readonly hint?: ReactNode;
  /** The problem of the input and the remedy, from `problem.fields`. */
  readonly problem?: string | undefined;
}

type Own<T extends 'input' | 'select' | 'textarea'> = FieldProps &
  Omit<ComponentProps<T>, 'value' | 'onChange'> & {
    /**
     * Left out in forms that read their fields when they are submitted: these fields have a name
     * and a defaultValue.
     */
    readonly value?: string;
    readonly onValue?: (value: string) => void;
  };

export function TextField({ label, hint, problem, onValue, ...rest }: Own<'input'>) {
  return (
    <Labelled {...{ label, hint, problem }}>
      {(ids) => <input type="text" {...rest} {...ids} onChange={(event) => onValue?.(event.target.value)} />}
    </Labelled>
  );
}

export function TextAreaField({ label, hint, problem, onValue, ...rest }: Own<'textarea'>) {
  return (
    <Labelled {...{ label, hint, problem }}>
      {(ids) => <textarea rows={3} {...rest} {...ids} onChange={(event) => onValue?.(event.target.value)} />}
    </Labelled>
  );
}

/** The options are its children: `<option value="…">`. */
export function SelectField({ label, hint, problem, onValue, children, ...rest }: Own<'select'>) {
  return (
    <Labelled {...{ label, hint, problem }}>
      {(ids) => (
        <select {...rest} {...ids} onChange={(event) => onValue?.(event.target.value)}>
          {children}
        </select>
      )}
    </Labelled>
  );
}

interface CheckFieldProps {
  readonly label: string;
  readonly checked: boolean;
  readonly onChecked: (checked: boolean) => void;
  /** The form is sent only if it is checked. */
  readonly required?: boolean;
}

export function CheckField({ label, checked, onChecked, required }: CheckFieldProps) {
  return (
    <label className="check">
      <input
        type="checkbox"
        required={required}
        checked={checked}
        onChange={(event) => onChecked(event.target.checked)}
      />
      {label}
    </label>
  );
}

interface Ids {
  readonly id: string;
  readonly 'aria-describedby': string | undefined;
  readonly 'aria-invalid': true | undefined;
}

function Labelled({ label, hint, problem, children }: FieldProps & { readonly children: (ids: Ids) => ReactNode }) {
  const id = useId();
  const described = [problem && `${id}-problem`, hint && `${id}-hint`].filter(Boolean).join(' ');
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children({ id, 'aria-describedby': described || undefined, 'aria-invalid': problem ? true : undefined })}
      <div aria-live="polite">
        {problem && (
          <p className="field-problem" id={`${id}-problem`}>
            {problem}
          </p>
        )}
      </div>
      {hint && (
        <p className="field-hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  );
}
