import { type CellName, cellNames, cells, specCells } from './cells.ts';

/**
 * The cells of the contract that were verified. A cell with several ways is verified if all of them
 * are.
 */
export class Matrix {
  readonly #tried = new Map<string, number>();
  readonly #held = new Map<string, number>();

  /** Call before trying a way to the cell. */
  try(route: string, cell: CellName): void {
    count(this.#tried, keyOf(route, cell));
  }

  /** Call when a way to the cell is verified. */
  hold(route: string, cell: CellName): void {
    count(this.#held, keyOf(route, cell));
  }

  /** Cells that the specification fills and no case has verified. */
  empty(): readonly string[] {
    return Object.entries(specCells).flatMap(([route, filled]) =>
      filled.map((cell) => keyOf(route, cell)).filter((key) => !this.#holds(key)),
    );
  }

  /**
   * Rows are answers, columns are routes: ✓ verified, ! failed, · not tried, – not in the
   * specification.
   */
  toString(): string {
    const routes = Object.keys(specCells);
    const width = Math.max(...cellNames.map((cell) => cell.length));
    const legend = routes.map((route, index) => `  ${letter(index)}  ${route}`);
    const head = `${' '.repeat(4)}${' '.repeat(width)}  ${routes.map((_, index) => letter(index)).join(' ')}`;
    const rows = cellNames.map((cell) => {
      const marks = routes.map((route) => this.#mark(route, cell));
      return `${cells[cell].status} ${cell.padEnd(width)}  ${marks.join(' ')}`;
    });
    return [...legend, '  ✓ holds  ! does not  · not tried here  – not in the specification', head, ...rows].join('\n');
  }

  #mark(route: string, cell: CellName): string {
    if (!specCells[route]?.includes(cell)) return '–';
    const key = keyOf(route, cell);
    if (!this.#tried.has(key)) return '·';
    return this.#holds(key) ? '✓' : '!';
  }

  #holds(key: string): boolean {
    const held = this.#held.get(key);
    return held !== undefined && held === this.#tried.get(key);
  }
}

function count(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

function keyOf(route: string, cell: CellName): string {
  return `${route}: ${cell}`;
}

function letter(index: number): string {
  return String.fromCharCode('A'.charCodeAt(0) + index);
}
