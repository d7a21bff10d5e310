import { stripVTControlCharacters } from 'node:util';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { type Columns, factSheet, Table } from './table.ts';

interface Row {
  readonly id: string;
  readonly count: number;
  readonly note: string;
}

const columns: Columns<Row> = {
  id: ({ id }) => id,
  count: ({ count }) => count,
  note: { of: ({ note }) => ({ text: note, color: 'red' }), spare: true },
};
const { isTTY, columns: width } = process.stdout;

function onTerminal(columnsOfTerminal: number): void {
  process.stdout.isTTY = true;
  process.stdout.columns = columnsOfTerminal;
}

describe('a table', () => {
  afterEach(() => {
    process.stdout.isTTY = isTTY;
    process.stdout.columns = width;
  });

  it('aligns columns by their widest cell, numbers to the right', () => {
    const text = new Table(columns).linesOf([
      { id: 'long-id', count: 7, note: 'a' },
      { id: 'x', count: 1_234, note: 'bcd' },
    ]);
    expect(text).toBe('id       count  note\nlong-id      7  a\nx         1234  bcd\n');
  });

  it('says in a cell that its value cannot be shown, and shows the other rows', () => {
    const odd: Columns<Row> = { ...columns, count: ({ count }) => Number(BigInt(count)) };
    const text = new Table(odd).linesOf([
      { id: 'odd', count: 1.5, note: '' },
      { id: 'x', count: 2, note: '' },
    ]);
    expect(text).toMatch(/^odd +\(can't be shown: .*1\.5.*\)$/m);
    expect(text).toMatch(/^x +2$/m);
  });

  it('keeps the widths of its first page, without headings again', () => {
    const table = new Table(columns);
    table.linesOf([{ id: 'abc', count: 10, note: '' }]);
    expect(table.linesOf([{ id: 'd', count: 1, note: 'n' }])).toBe('d        1  n\n');
  });

  it('is not as wide as its longest text in a pipe', () => {
    const note = 'n'.repeat(200);
    const text = new Table({ note: ({ note: of }: Row) => of, id: ({ id }: Row) => id }).linesOf([
      { id: 'a', count: 1, note },
      { id: 'b', count: 1, note: 'short' },
    ]);
    expect(text).toBe(`${'note'.padEnd(40)}  id\n${note}  a\n${'short'.padEnd(40)}  b\n`);
  });

  it('takes several lines for a row in a narrow terminal, and cuts nothing', () => {
    onTerminal(40);
    const text = new Table({ ...columns, note: ({ note }: Row) => note }).linesOf([
      { id: '01a1fc6b-b507-756f-be4c-3808a428abd2', count: 12_345_678, note: 'short' },
      { id: '01a1fc6b-b507-756f-be4c-3808a428abd3', count: 1, note: '' },
    ]);
    expect(stripVTControlCharacters(text).split('\n')).toEqual([
      'id',
      '     count  note',
      '01a1fc6b-b507-756f-be4c-3808a428abd2',
      '  12345678  short',
      '01a1fc6b-b507-756f-be4c-3808a428abd3',
      '         1',
      '',
    ]);
  });

  it('leaves out spare columns before a row takes several lines', () => {
    onTerminal(20);
    const text = new Table(columns).linesOf([{ id: 'identifier', count: 1_234, note: 'a long text' }]);
    expect(stripVTControlCharacters(text)).toBe('id          count\nidentifier   1234\n');
  });

  it('has every text whole, in lines that fit unless a text alone is longer', () => {
    const text = fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 60 }).map((each) => each.trim() || 'x');
    const row = fc.record({
      id: fc.uuid(),
      name: text,
      url: fc.uuid().map((each) => `https://gateway.example/${each}`),
      count: fc.nat(),
      problem: text,
    });
    const page = fc.array(row, { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 200 }), page, page, (width, first, second) => {
        onTerminal(width);
        const table = new Table<(typeof first)[number]>({
          id: ({ id }) => id,
          name: ({ name }) => name,
          url: ({ url }) => ({ text: url, color: 'red' }),
          count: ({ count }) => count,
          spare: { of: () => 'x'.repeat(30), spare: true },
          problem: ({ problem }) => problem,
        });
        const lines = [first, second].map((records) => stripVTControlCharacters(table.linesOf(records)).split('\n'));
        const whole = [...first, ...second].flatMap((each) => [each.id, each.name, each.url, each.problem]);
        for (const each of whole) expect(lines.flat().some((line) => line.includes(each))).toBe(true);
        const texts = first.flatMap((each) => [each.id, each.name, each.url, String(each.count), each.problem]);
        const longest = Math.max(...texts.map((each) => each.length), 'problem'.length) + 2;
        for (const line of lines[0] ?? []) expect(line.length).toBeLessThanOrEqual(Math.max(width, longest));
      }),
    );
  });

  it('shows nothing that turns a line around or cannot be seen', () => {
    const text = new Table(columns).linesOf([{ id: 'admin\u200b', count: 1, note: 'user\u202egpj.exe' }]);
    expect(text.split('\n')[1]).toMatch(/^admin� +1 +user�gpj\.exe$/);
  });

  it('shows nothing that a terminal would obey', () => {
    const text = new Table(columns).linesOf([{ id: '\x1b[31mred\n\x07', count: 1, note: '' }]);
    expect(text.split('\n')[1]).toMatch(/^red +1$/);
  });
});

it('a fact sheet leaves out unknown values', () => {
  expect(factSheet({ id: 'a', none: '', nothing: undefined, 'a number': 7 })).toBe('id        a\na number  7\n');
});
