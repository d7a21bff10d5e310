import fc from 'fast-check';
import { expect, it } from 'vitest';
import { JsonScanner } from './json-scanner.ts';

it('tracks where a key ends, at any depth and in whatever chunks, and no value that reads the same', () => {
  const name = fc.constantFrom('sign', 'sig', 'signs', 'text');
  const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom('sign', 1, null),
      fc.dictionary(name, tie('tree')),
      fc.array(tie('tree')),
    ),
  }));
  fc.assert(
    fc.property(tree, fc.integer({ min: 1, max: 20 }), (value, chunkBytes) => {
      const text = JSON.stringify(value);
      const bytes = Buffer.from(text);
      const scanner = new JsonScanner({ trackedKey: 'sign' });
      for (let start = 0; start < bytes.length; start += chunkBytes)
        scanner.push(bytes.slice(start, start + chunkBytes));
      scanner.end();
      expect(scanner.trackedKeyEnds).toEqual([...text.matchAll(/"sign":/g)].slice(-100).map(({ index }) => index + 6));
    }),
    { numRuns: 500 },
  );
});

it('tracks none when none was asked for', () => {
  const scanner = new JsonScanner();
  scanner.push(Buffer.from('{"sign":1}'));
  expect(scanner.trackedKeyEnds).toEqual([]);
});
