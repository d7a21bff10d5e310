interface ChangedMeanwhileProps {
  /** "token" */
  readonly what: string;
  /** One line for each field that another operator changed since the form was opened. */
  readonly changes: readonly string[];
}

export function ChangedMeanwhile({ what, changes }: ChangedMeanwhileProps) {
  if (changes.length === 0) return null;
  return (
    <div className="problem-note" role="alert">
      <p>Another operator changed this {what} meanwhile. Fields that you did not edit keep their changes:</p>
      <ul>
        {changes.map((text) => (
          <li key={text}>{text}</li>
        ))}
      </ul>
    </div>
  );
}
