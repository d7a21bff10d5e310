interface ChoiceProps<T extends string> {
  /** The label of the choice, for screen readers. */
  readonly label: string;
  readonly options: readonly { readonly value: T; readonly label: string }[];
  readonly value: T;
  readonly onValue: (value: T) => void;
  readonly className?: string;
}

/** A choice of a few visible options. The arrow keys move through them. */
export function Choice<T extends string>({ label, options, value, onValue, className = '' }: ChoiceProps<T>) {
  return (
    <fieldset className={`choice ${className}`}>
      <legend className="hidden">{label}</legend>
      {options.map((option) => (
        <label key={option.value}>
          <input type="radio" name={label} checked={option.value === value} onChange={() => onValue(option.value)} />
          <span>{option.label}</span>
        </label>
      ))}
    </fieldset>
  );
}
