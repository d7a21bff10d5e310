import { describe, expect, it } from 'vitest';
import { formatTable } from './table.ts';

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
