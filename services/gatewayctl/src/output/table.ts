/** Records as a table, or as JSON, one object a line. */
export function formatRecords(
  names: readonly string[],
  records: readonly Readonly<Record<string, string>>[],
  json = false,
): string {
  if (json) return records.map((record) => `${JSON.stringify(record)}\n`).join('');
  const rows = records.map((record) => names.map((name) => record[name] ?? ''));
  return formatTable(names, rows);
}

/** Rows as aligned columns under their headings, for a terminal. */
export function formatTable(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = headings.map((heading, column) =>
    Math.max(heading.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  return [headings, ...rows].map((row) => `${line(row)}\n`).join('');
}
