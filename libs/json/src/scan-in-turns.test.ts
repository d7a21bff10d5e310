import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { scanInTurns, unlimited } from './json-body.ts';

const elementsOf = async (text: string, pieceBytes = text.length + 1) => {
  const bytes = Buffer.from(text);
  const pieces = Array.from({ length: Math.ceil(bytes.length / pieceBytes) }, (_, n) =>
    bytes.subarray(n * pieceBytes, (n + 1) * pieceBytes),
  );
  const { members } = await scanInTurns(pieces, { ...unlimited, ofArray: true });
  return members.map(({ valueStart, valueEnd }) => bytes.toString('utf8', valueStart, valueEnd));
};

describe('the elements of an array', () => {
  it('are found by their bytes, without the space around them', async () => {
    expect(await elementsOf('[ 1 , "a,]\\"" ,{"b":[2, 3]},\n[ ] , null]')).toEqual([
      '1',
      '"a,]\\""',
      '{"b":[2, 3]}',
      '[ ]',
      'null',
    ]);
    expect(await elementsOf(' [true] ')).toEqual(['true']);
    expect(await elementsOf('[]')).toEqual([]);
    expect(await elementsOf('[ ]')).toEqual([]);
  });

  it('are those that JSON.parse finds, of any array in any pieces', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.jsonValue(), { maxLength: 6 }),
        fc.constantFrom(undefined, 1, '\t'),
        fc.integer({ min: 1, max: 50 }),
        async (values, indent, pieceBytes) => {
          const texts = await elementsOf(JSON.stringify(values, undefined, indent), pieceBytes);
          expect(texts.map((text) => JSON.parse(text))).toEqual(JSON.parse(JSON.stringify(values)));
        },
      ),
    );
  });
});

it('yields to the event loop while it scans a large text', async () => {
  let turns = 0;
  let next = setImmediate(function count() {
    turns += 1;
    next = setImmediate(count);
  });
  await scanInTurns([Buffer.from(`"${'x'.repeat(1024 * 1024)}"`)]);
  clearImmediate(next);
  expect(turns).toBeGreaterThanOrEqual(16);
});
