/** What docs/reference/comparison.md says about each system, and from which sources. */
export interface Comparison {
  readonly tables: readonly Table[];
  readonly sources: readonly Source[];
  /** The addresses of links by reference. */
  readonly definitions: ReadonlyMap<string, string>;
}

export interface Table {
  /** The heading above it. */
  readonly title: string;
  readonly rows: readonly Row[];
}

export interface Row {
  readonly system: string;
  readonly cells: readonly Cell[];
}

export interface Cell {
  readonly text: string;
  /** The sources that it names: "L3". */
  readonly keys: readonly string[];
}

export interface Source {
  readonly key: string;
  readonly what: string;
  /** The version, commit or date of what was read. */
  readonly state: string;
  readonly readOn: string;
}

export function comparedOn(page: string): Comparison {
  const [, ...sections] = page.split(/^## /m);
  const all = sections.map((section) => ({ title: section.split('\n')[0] ?? '', lines: rowsOf(section) }));
  return {
    tables: all
      .filter(({ title, lines }) => title !== 'Sources' && lines.length > 0)
      .map(({ title, lines }) => ({ title, rows: lines.map(rowOf) })),
    sources: all.filter(({ title }) => title === 'Sources').flatMap(({ lines }) => lines.map(sourceOf)),
    definitions: new Map([...page.matchAll(/^\[([^\]]+)\]: (\S+)$/gm)].map(([, key = '', url = '']) => [key, url])),
  };
}

/** The rows of the table of a section, without its head. */
function rowsOf(section: string): readonly (readonly string[])[] {
  const [, , ...rows] = section.split('\n').filter((line) => line.startsWith('|'));
  return rows.map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

function rowOf([system = '', ...cells]: readonly string[]): Row {
  return { system, cells: cells.map(cellOf) };
}

function cellOf(cell: string): Cell {
  return {
    text: cell.replaceAll(key, '').trim(),
    keys: [...cell.matchAll(key)].map(([, name = '']) => name),
  };
}

const key = /\[([A-Z]\d+)\]/g;

function sourceOf([name = '', what = '', state = '', readOn = '']: readonly string[]): Source {
  return { key: name.replace(/^\[(.*)\]$/, '$1'), what, state, readOn };
}
