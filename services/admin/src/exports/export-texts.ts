import { visibleJson, visibleText } from '@gateway/presentation';
import { RequestRecordedSchema } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { readableJson } from '../readable-json.ts';
import type { Cell, Columns, ListedRequest } from './export-columns.ts';

export type ExportFormat = 'csv' | 'ndjson';

/**
 * The texts of an export, one for each page of rows. The first text of a CSV begins with the names
 * of the columns.
 */
export async function* exportTexts<T>(
  pages: AsyncIterable<readonly T[]>,
  format: ExportFormat,
  columns: Columns<T>,
  toObject: (row: T) => object = (row) => objectOf(columns, row),
): AsyncGenerator<string> {
  const toLine = (row: T) =>
    format === 'csv'
      ? csvLine(Object.values(columns).map((cellOf) => orWhy(() => cellOf(row), whyText)))
      : jsonLine(() => toObject(row));
  let head = format === 'csv' ? `${Object.keys(columns).join(',')}\r\n` : '';
  for await (const rows of pages) {
    const text = head + rows.map(toLine).join('');
    head = '';
    if (text !== '') yield text;
  }
}

function jsonLine(read: () => object): string {
  return `${visibleJson(JSON.stringify(orWhy(read, (unreadable) => ({ unreadable }))))}\n`;
}

/** A row that can't be written says why, and its file is complete. */
function orWhy<V>(read: () => V, instead: (why: string) => V): V {
  try {
    return read();
  } catch (thrown) {
    return instead(thrown instanceof Error ? thrown.message : String(thrown));
  }
}

function whyText(why: string): Cell {
  return `(can't be shown: ${why})`;
}

/** One line as RFC 4180 has it. */
function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`;
}

/** All texts are quoted, so that no spreadsheet splits them, and have only visible characters. */
function csvCell(cell: Cell): string {
  if (cell === '') return '';
  return typeof cell === 'string' ? `"${withoutFormula(visibleText(cell)).replaceAll('"', '""')}"` : String(cell);
}

/**
 * Puts an apostrophe before a text that a spreadsheet would read as a formula. Where lists are
 * separated by semicolons, a spreadsheet also splits texts at them, and each part is a cell of its
 * own.
 * @see https://owasp.org/www-community/attacks/CSV_Injection
 */
function withoutFormula(text: string): string {
  return /^-?\d+(\.\d+)?$/.test(text) ? text : text.replaceAll(/(?:^|;)[\s"]*(?=[=+\-@＝＋－＠])/g, "$&'");
}

/** A request as the request log has it, with the label of its token. */
export function requestJson({ tokenLabel, ...request }: ListedRequest): object {
  return { tokenLabel, ...readableJson(RequestRecordedSchema, request) };
}

function objectOf<T>(columns: Columns<T>, row: T): object {
  return Object.fromEntries(Object.entries(columns).map(([name, cellOf]) => [name, cellOf(row)]));
}
