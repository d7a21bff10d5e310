/** What a cell of an export may be. */
export type Cell = string | number | bigint;

/** One line as RFC 4180 has it. Texts that a spreadsheet would take for a formula begin with an apostrophe. */
export function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`;
}

function csvCell(cell: Cell): string {
  if (typeof cell !== 'string') return String(cell);
  // @see https://owasp.org/www-community/attacks/CSV_Injection
  const text = /^[=+\-@\t\r\n]/.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
