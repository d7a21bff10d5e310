export type ExportFormat = 'csv' | 'ndjson';

/** The same rows as files, however many they are. */
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
