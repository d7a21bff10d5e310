import { stripVTControlCharacters, styleText } from 'node:util';
import { visibleText } from '@gateway/presentation/visible-text';

export type Color = 'red' | 'yellow' | 'green' | 'dim';

/** The value of a cell. Numbers are aligned to the right. */
export type Cell = string | number | { readonly text: string; readonly color: Color | undefined };

export interface Column<T> {
  readonly of: (record: T) => Cell;
  /** Columns that are left out first when the terminal is narrow: nothing that people copy. */
  readonly spare?: true;
}

/** The columns of a list by their headings. A function stands for a column that always stays. */
export type Columns<T> = Readonly<Record<string, Column<T> | ((record: T) => Cell)>>;

/** A text in a color, where standard output is a terminal that shows it. NO_COLOR is respected. */
export function colored(text: string, color: Color | undefined): string {
  return color === undefined || text === '' ? text : styleText(color, text, { stream: process.stdout });
}

/**
 * Columns under their headings, for rows that come page after page: the first page decides the
 * layout. No text is ever cut, because people copy ids, names and addresses from tables. In a
 * narrow terminal, a row takes several lines.
 */
export class Table<T> {
  readonly #columns: readonly (readonly [string, Column<T>])[];
  #layout: Layout | undefined;

  constructor(columns: Columns<T>) {
    this.#columns = Object.entries(columns).map(([name, column]) => [
      name,
      typeof column === 'function' ? { of: column } : column,
    ]);
  }

  /** The lines of these records; the headings come before the first ones. */
  linesOf(records: readonly T[]): string {
    const rows = records.map((record) => this.#columns.map(([, { of }]) => cellOf(of, record)));
    const isFirst = this.#layout === undefined;
    this.#layout ??= this.#layoutFor(rows);
    const { widths, lines } = this.#layout;
    const headings = this.#columns.map(([name], index): Cell => {
      const isNumber = rows.length > 0 && rows.every((row) => typeof row[index] === 'number');
      return { text: isNumber ? name.padStart(widths[index] ?? 0) : name, color: 'dim' };
    });
    return [...(isFirst ? [headings] : []), ...rows].map((row) => textOfRow(row, widths, lines)).join('');
  }

  /**
   * As many columns in each line as fit. If they do not all fit in one line, spare columns are left
   * out, the last one first.
   */
  #layoutFor(rows: readonly (readonly Cell[])[]): Layout {
    const terminal = (process.stdout.isTTY && process.stdout.columns) || Number.POSITIVE_INFINITY;
    // In a pipe, one long text must not fill every other row with spaces.
    const widest = Number.isFinite(terminal) ? Number.POSITIVE_INFINITY : widestPadding;
    const widths = this.#columns.map(([name], index) => {
      const lengths = [name, ...rows.map((row) => row[index] ?? '')].map((cell) => [...textOf(cell)].length);
      return Math.min(widest, Math.max(...lengths));
    });
    let shown = [...widths.keys()];
    for (const [index, [, { spare }]] of [...this.#columns.entries()].toReversed()) {
      if (spare && lineWidth(shown, widths) > terminal) shown = shown.filter((each) => each !== index);
    }
    const lines: number[][] = [];
    for (const index of shown) {
      const line = lines.at(-1);
      const room = terminal - (lines.length > 1 ? indent.length : 0);
      if (line !== undefined && lineWidth([...line, index], widths) <= room) line.push(index);
      else lines.push([index]);
    }
    return { widths, lines };
  }
}

/** A value that can't be formatted says so in its cell: the other rows are worth showing. */
function cellOf<T>(of: Column<T>['of'], record: T): Cell {
  try {
    return of(record);
  } catch (thrown) {
    return { text: `(can't be shown: ${thrown instanceof Error ? thrown.message : String(thrown)})`, color: 'yellow' };
  }
}

/** An id fits. */
const widestPadding = 40;

interface Layout {
  readonly widths: readonly number[];
  /** The columns in each line of a row. */
  readonly lines: readonly (readonly number[])[];
}

const gap = '  ';
/** In front of all lines of a row but the first. */
const indent = '  ';

/** Rows of a name and a value each. */
export function factSheet(facts: Readonly<Record<string, Cell | undefined>>): string {
  const known = Object.entries(facts).flatMap(([name, cell]) =>
    cell === undefined || cell === '' ? [] : [[name, cell] as const],
  );
  const width = Math.max(...known.map(([name]) => name.length));
  return known.map(([name, cell]) => `${colored(name.padEnd(width), 'dim')}  ${shown(cell, textOf(cell))}\n`).join('');
}

function lineWidth(columns: readonly number[], widths: readonly number[]): number {
  return columns.reduce((sum, index) => sum + (widths[index] ?? 0) + gap.length, -gap.length);
}

function textOfRow(row: readonly Cell[], widths: Layout['widths'], lines: Layout['lines']): string {
  const texts = lines.map((line) => {
    const cells = line.map((index) => {
      const cell = row[index] ?? '';
      const text = textOf(cell);
      const padding = ' '.repeat(Math.max(0, (widths[index] ?? 0) - [...text].length));
      return typeof cell === 'number' ? `${padding}${text}` : `${shown(cell, text)}${padding}`;
    });
    return cells.join(gap).trimEnd();
  });
  const [first = '', ...others] = texts;
  return [first, ...others.filter((text) => text !== '').map((text) => `${indent}${text}`)].join('\n').concat('\n');
}

/** Labels and answers of other services may contain terminal control characters. */
function textOf(cell: Cell): string {
  const text = typeof cell === 'object' ? cell.text : String(cell);
  return visibleText(stripVTControlCharacters(text));
}

function shown(cell: Cell, text: string): string {
  return typeof cell === 'object' ? colored(text, cell.color) : text;
}
