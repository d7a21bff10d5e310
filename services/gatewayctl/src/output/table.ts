import { stripVTControlCharacters, styleText } from 'node:util';
import { visibleText } from '@gateway/presentation';

export type Color = 'red' | 'yellow' | 'green' | 'dim';

/** The value of a cell. Numbers are aligned to the right, and never cut. */
export type Cell = string | number | { readonly text: string; readonly color: Color | undefined };

export interface Column<T> {
  readonly of: (record: T) => Cell;
  /** Columns that are dropped first when the terminal is narrow. */
  readonly spare?: true;
}

/** The columns of a list by their headings. A function stands for a column that always stays. */
export type Columns<T> = Readonly<Record<string, Column<T> | ((record: T) => Cell)>>;

/** A text in a color, where standard output is a terminal that shows it. NO_COLOR is respected. */
export function colored(text: string, color: Color | undefined): string {
  return color === undefined ? text : styleText(color, text, { stream: process.stdout });
}

/**
 * Columns under their headings, for rows that come page after page: the first page decides the
 * widths.
 */
export class Table<T> {
  readonly #columns: readonly (readonly [string, Column<T>])[];
  #widths: readonly number[] | undefined;

  constructor(columns: Columns<T>) {
    this.#columns = Object.entries(columns).map(([name, column]) => [
      name,
      typeof column === 'function' ? { of: column } : column,
    ]);
  }

  /** The lines of these records; the headings come before the first ones. */
  linesOf(records: readonly T[]): string {
    const rows = records.map((record) => this.#columns.map(([, { of }]) => of(record)));
    const isFirst = this.#widths === undefined;
    const widths = this.#widths ?? this.#widthsFor(rows);
    this.#widths = widths;
    const headings = this.#columns.map(([name], index): Cell => {
      const isNumber = rows.length > 0 && rows.every((row) => typeof row[index] === 'number');
      return { text: isNumber ? name.padStart(widths[index] ?? 0) : name, color: 'dim' };
    });
    return [...(isFirst ? [headings] : []), ...rows].map((row) => lineOf(row, widths)).join('');
  }

  /**
   * Widths that fit into a line. Spare columns are dropped, the last one first; then the widest
   * texts are cut. A column of width 0 is left out.
   */
  #widthsFor(rows: readonly (readonly Cell[])[]): readonly number[] {
    const widths = this.#columns.map(([name], index) =>
      Math.max(...[name, ...rows.map((row) => row[index] ?? '')].map((cell) => [...textOf(cell)].length)),
    );
    const terminal = process.stdout.isTTY ? process.stdout.columns : Number.POSITIVE_INFINITY;
    const fixed = this.#columns.map((_, index) => rows.some((row) => typeof row[index] === 'number'));
    const smallest = (width: number, index: number) => (fixed[index] ? width : Math.min(width, least));
    for (const [index, [, { spare }]] of [...this.#columns.entries()].toReversed()) {
      if (spare && lineWidth(widths.map(smallest)) > terminal) widths[index] = 0;
    }
    while (lineWidth(widths) > terminal) {
      const widest = Math.max(...widths.filter((_, index) => !fixed[index]));
      if (widest <= least) break;
      widths[widths.findLastIndex((width, index) => !fixed[index] && width === widest)] = widest - 1;
    }
    return widths;
  }
}

/** The shortest length to which a text is cut. */
const least = 10;
const gap = 2;

/** Rows of a name and a value each. */
export function factSheet(facts: Readonly<Record<string, Cell | undefined>>): string {
  const known = Object.entries(facts).flatMap(([name, cell]) =>
    cell === undefined || cell === '' ? [] : [[name, cell] as const],
  );
  const width = Math.max(...known.map(([name]) => name.length));
  return known.map(([name, cell]) => `${colored(name.padEnd(width), 'dim')}  ${shown(cell, textOf(cell))}\n`).join('');
}

function lineWidth(widths: readonly number[]): number {
  const seen = widths.filter((width) => width > 0);
  return seen.reduce((sum, width) => sum + width + gap, -gap);
}

function lineOf(row: readonly Cell[], widths: readonly number[]): string {
  const cells = row.flatMap((cell, index) => {
    const width = widths[index] ?? 0;
    if (width === 0) return [];
    const text = textOf(cell);
    if (typeof cell === 'number') return [text.padStart(width)];
    const letters = [...text];
    const cut = letters.length > width ? `${letters.slice(0, width - 1).join('')}…` : text;
    return [`${shown(cell, cut)}${' '.repeat(Math.max(0, width - letters.length))}`];
  });
  return `${cells.join(' '.repeat(gap)).trimEnd()}\n`;
}

/** Labels and answers of other services may contain terminal control characters. */
function textOf(cell: Cell): string {
  const text = typeof cell === 'object' ? cell.text : String(cell);
  return visibleText(stripVTControlCharacters(text));
}

function shown(cell: Cell, text: string): string {
  return typeof cell === 'object' ? colored(text, cell.color) : text;
}
