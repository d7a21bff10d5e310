export type ExportFormat = 'csv' | 'ndjson';

/** Links to exports of all rows. */
export function ExportLinks({ to }: { readonly to: (format: ExportFormat) => string }) {
  return (
    <>
      <a href={to('csv')} download>
        CSV
      </a>{' '}
      or{' '}
      <a href={to('ndjson')} download>
        NDJSON
      </a>
    </>
  );
}
