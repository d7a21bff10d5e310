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

  it('keeps the widths of its first page, without headings again', () => {
    const table = new Table(columns);
    table.linesOf([{ id: 'abc', count: 10, note: '' }]);
    expect(table.linesOf([{ id: 'd', count: 1, note: 'n' }])).toBe('d        1  n\n');
  });

  it('cuts the widest text to fit the terminal, and never a number', () => {
    onTerminal(30);
    const text = new Table({ ...columns, note: ({ note }: Row) => note }).linesOf([
      { id: '01a1fc6b-b507-756f-be4c-3808a428abd2', count: 12_345_678, note: 'short' },
    ]);
    expect(text.split('\n')[1]).toBe('01a1fc6b-b50…  12345678  short');
  });

  it('drops spare columns before it cuts ids', () => {
    onTerminal(20);
    const text = new Table(columns).linesOf([{ id: 'identifier', count: 1_234, note: 'a long text' }]);
    expect(text).toContain('identifier');
    expect(text).not.toContain('long');
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
