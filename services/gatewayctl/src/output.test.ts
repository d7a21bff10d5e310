import { describe, expect, it } from 'vitest';
import { type Column, durationText, formatTable, rowFormat } from './output.ts';

describe('formatTable', () => {
  it('aligns columns by their widest cell', () => {
    expect(
      formatTable(
        ['id', 'label'],
        [
          ['long-id', 'a'],
          ['x', 'bcd'],
        ],
      ),
    ).toBe('id       label\nlong-id  a\nx        bcd\n');
  });
});

const columns: readonly Column[] = [
  { name: 'model', width: 6 },
  { name: 'requests', width: 10, kind: 'number' },
];

describe('a row format', () => {
  it('aligns the columns of a table, numbers to the right', () => {
    const { head, row } = rowFormat('table', columns);
    expect(head + row(['a', 7]) + row(['longer-than-that', 1_234])).toBe(
      'model     requests\na                7\nlonger-than-that        1234\n',
    );
  });

  it('quotes what has a meaning in CSV', () => {
    const { head, row } = rowFormat('csv', columns);
    expect(head + row(['plain', 1]) + row(['a "b", c', 2])).toBe('model,requests\r\nplain,1\r\n"a ""b"", c",2\r\n');
  });

  it('makes a JSON object of each row, with numbers as numbers', () => {
    const { head, row } = rowFormat('json', columns);
    expect(head + row(['a', 7])).toBe('{"model":"a","requests":7}\n');
  });
});

it.each([
  [0, '0.0 ms'],
  [3.14, '3.1 ms'],
  [9.97, '10 ms'],
  [999.4, '999 ms'],
  [999.6, '1.0 s'],
  [42_000, '42.0 s'],
  [99_990, '2 min'],
  [59.6 * 60_000, '1 h 0 min'],
  [5.5 * 3_600_000, '5 h 30 min'],
  [50 * 3_600_000, '2 d 2 h'],
])('%s ms is "%s"', (ms, text) => {
  expect(durationText(ms)).toBe(text);
});
