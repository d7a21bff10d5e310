import { describe, expect, it } from 'vitest';
import { type Column, formatTable, rowFormat } from './table.ts';

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
