interface ChoiceProps<T extends string> {
  /** What is chosen. Read to those who do not see it. */
  readonly label: string;
  readonly options: readonly { readonly value: T; readonly label: string }[];
  readonly value: T;
  readonly onValue: (value: T) => void;
  readonly className?: string;
}

/** One of a few, all of them in sight. The arrow keys go through them. */
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
