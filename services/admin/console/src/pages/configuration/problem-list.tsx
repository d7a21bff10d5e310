/** Each with its path and its remedy. */
export function ProblemList({ problems }: { readonly problems: readonly string[] }) {
  return (
    <ul className="problem-note block">
      {problems.map((problem) => (
        <li key={problem}>{problem}</li>
      ))}
    </ul>
  );
}
