import { type Timestamp, timestampDate } from '@bufbuild/protobuf/wkt';

/** Writes a part of the result to standard output. */
export function print(text: string): void {
  process.stdout.write(text);
}

/** Writes a line to standard error: progress, and what is not the result. */
export function note(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** The columns of a list, and what a record has in each. */
export type Columns<T> = Readonly<Record<string, (record: T) => string>>;

/** Records as a table, or as JSON, one object a line. */
export function formatRecords<T>(columns: Columns<T>, records: readonly T[], json = false): string {
  const names = Object.keys(columns);
  const rows = records.map((record) => Object.values(columns).map((cellOf) => cellOf(record)));
  return json ? rows.map((row) => jsonLine(objectOf(names, row))).join('') : formatTable(names, rows);
}

/** Rows as aligned columns under their headings, for a terminal. */
export function formatTable(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [headings, ...rows];
  const columns = headings.map((name, index) => {
    const width = Math.max(...all.map((row) => row[index]?.length ?? 0));
    return { name, width };
  });
  return all.map((row) => alignedLine(columns, row)).join('');
}

/** A column of rows that are written one after the other, before the last one is known. */
export interface Column {
  readonly name: string;
  /** How wide a table makes it. A wider cell moves those behind it. */
  readonly width: number;
  /** Numbers are aligned to the right. */
  readonly kind?: 'number';
}

export const formatNames = ['table', 'csv', 'json'] as const;
export type FormatName = (typeof formatNames)[number];

type Cells = readonly (string | number)[];

/** How such rows become text, one by one. */
export function rowFormat(format: FormatName, columns: readonly Column[]) {
  const names = columns.map(({ name }) => name);
  if (format === 'json') return { head: '', row: (cells: Cells) => jsonLine(objectOf(names, cells)) };
  const row = format === 'csv' ? csvLine : (cells: Cells) => alignedLine(columns, cells);
  return { head: row(names), row };
}

export function jsonLine(value: unknown): string {
  return `${JSON.stringify(value)}\n`;
}

function objectOf(names: readonly string[], cells: Cells) {
  return Object.fromEntries(names.map((name, index) => [name, cells[index]]));
}

function alignedLine(columns: readonly Column[], cells: Cells): string {
  const padded = columns.map(({ width, kind }, index) => {
    const text = String(cells[index] ?? '');
    return kind === 'number' ? text.padStart(width) : text.padEnd(width);
  });
  return `${padded.join('  ').trimEnd()}\n`;
}

/** @see RFC 4180 */
function csvLine(cells: Cells): string {
  const quoted = cells.map(String).map((text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text));
  return `${quoted.join(',')}\r\n`;
}

/** A duration as a person reads it: "3.2 ms", "120 ms", "2.1 s", "12 min", "5 h 20 min", "3 d 4 h". */
export function durationText(ms: number): string {
  if (ms < 9.95) return `${ms.toFixed(1)} ms`;
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 99_950) return `${(ms / 1_000).toFixed(1)} s`;
  const minutes = Math.round(ms / 60_000);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** The name of an enum's value in lower case: `rate_limited`. */
export function enumWord(names: Readonly<Record<number, string>>, value: number): string {
  return (names[value] ?? 'unknown').toLowerCase();
}

export function timeText(time: Timestamp | undefined, otherwise = ''): string {
  return time === undefined ? otherwise : timestampDate(time).toISOString();
}
