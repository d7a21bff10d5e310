/** A column of rows that are written one after the other, before the last one is known. */
export interface Column {
  readonly name: string;
  /** How wide a table makes it. A wider cell moves those behind it. */
  readonly width: number;
  /** Numbers are aligned to the right, and are numbers in JSON. */
  readonly kind: 'text' | 'number';
}

export type Cell = string | number;

/** How rows become text. */
export interface RowFormat {
  readonly head: string;
  row(cells: readonly Cell[]): string;
}

export const formatNames = ['table', 'csv', 'json'] as const;
export type FormatName = (typeof formatNames)[number];

export function rowFormat(name: FormatName, columns: readonly Column[]): RowFormat {
  switch (name) {
    case 'table':
      return tableFormat(columns);
    case 'csv':
      return csvFormat(columns);
    case 'json':
      return jsonFormat(columns);
  }
}

function tableFormat(columns: readonly Column[]): RowFormat {
  const line = (cells: readonly Cell[]) =>
    `${columns
      .map(({ width, kind }, index) => {
        const text = String(cells[index] ?? '');
        return kind === 'number' ? text.padStart(width) : text.padEnd(width);
      })
      .join('  ')
      .trimEnd()}\n`;
  return { head: line(columns.map(({ name }) => name)), row: line };
}

/** @see RFC 4180 */
function csvFormat(columns: readonly Column[]): RowFormat {
  const line = (cells: readonly Cell[]) => `${cells.map((cell) => quoted(String(cell))).join(',')}\r\n`;
  return { head: line(columns.map(({ name }) => name)), row: line };
}

function quoted(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** One object a line. */
function jsonFormat(columns: readonly Column[]): RowFormat {
  return {
    head: '',
    row: (cells) => `${JSON.stringify(Object.fromEntries(columns.map(({ name }, index) => [name, cells[index]])))}\n`,
  };
}
