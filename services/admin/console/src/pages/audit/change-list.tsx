import { changesBetween } from './changes-between.ts';

/** What is another now, a line for each field. */
export function ChangeList({ before, after }: { readonly before: string; readonly after: string }) {
  const changes = changesBetween(before, after);
  if (changes.length === 0) return <span className="faint">–</span>;
  return (
    <ul className="changes">
      {changes.map(({ field, was, is }) => (
        <li key={field}>
          <span className="faint">{field}</span> {was !== undefined && <del>{was}</del>}
          {was !== undefined && is !== undefined && <span aria-hidden="true"> → </span>}
          {is !== undefined && <ins>{is}</ins>}
        </li>
      ))}
    </ul>
  );
}
