import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EventStream } from './event-stream.ts';

const dataOf = (pieces: readonly string[]) => {
  const stream = new EventStream();
  return pieces.flatMap((piece) => stream.push(piece)).map(({ data }) => data);
};

describe('a stream of events', () => {
  it('has the data of each event that is complete', () => {
    expect(dataOf(['event: a\ndata: 1\n\n: ping\n\ndata:2\ndata: 3\n\ndata: 4\n'])).toEqual(['1', '2\n3']);
  });

  it.each(['\n', '\r\n', '\r'])('may end its lines with %j', (end) => {
    expect(dataOf([`data: 1${end}${end}data: 2${end}${end}data: 3`])).toEqual(['1', '2']);
  });

  it('has the same events wherever it is cut', () => {
    const piece = fc.constantFrom(
      'data: 1',
      'data:',
      'data: é',
      ': comment',
      'event: x',
      '\n',
      '\n\n',
      '\r\n',
      '\r\n\r\n',
      '\r',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 20, size: 'max' }), fc.array(fc.nat(9)), (parts, sizes) => {
        const text = parts.join('');
        const cuts: string[] = [];
        let at = 0;
        for (const size of sizes) {
          cuts.push(text.slice(at, at + size));
          at += size;
        }
        // A last line feed completes a final CR in both.
        expect(dataOf([...cuts, text.slice(at), '\n'])).toEqual(dataOf([`${text}\n`]));
      }),
    );
  });
});
