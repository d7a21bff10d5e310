import fc from 'fast-check';
import { expect, it } from 'vitest';
import { JsonScanner } from './json-scanner.ts';

const tracked = { key: 'sign', minBytes: 2, maxBytes: 4 } as const;

it('finds the last string of a key, at any depth and in whatever chunks, if its length fits', () => {
  const name = fc.constantFrom('sign', 'sig', 'signs', 'text');
  const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom('sign', 'ab', 'abcd', 'a', 'abcde', 'a\n', 'é', 1, null),
      fc.dictionary(name, tie('tree')),
      fc.array(tie('tree')),
    ),
  }));
  const indent = fc.constantFrom(undefined, 1, '\t');
  fc.assert(
    fc.property(tree, indent, fc.integer({ min: 1, max: 20 }), (value, spaces, chunkBytes) => {
      const text = JSON.stringify(value, undefined, spaces);
      const bytes = Buffer.from(text);
      const scanner = new JsonScanner({ tracked });
      for (let start = 0; start < bytes.length; start += chunkBytes)
        scanner.push(bytes.slice(start, start + chunkBytes));
      scanner.end();
      const found = [...text.matchAll(/"sign":\s*"([^"\\]*)"(?!\s*:)/g)].map(([, string = '']) => string);
      const last = found.findLast((string) => Buffer.byteLength(string) >= 2 && Buffer.byteLength(string) <= 4);
      const { start, end } = scanner.trackedString ?? {};
      expect(start === undefined ? undefined : bytes.toString('utf8', start, end)).toBe(last);
    }),
    { numRuns: 1_000 },
  );
});

it('finds none when none was asked for', () => {
  const scanner = new JsonScanner();
  scanner.push(Buffer.from('{"sign":"abc"}'));
  expect(scanner.trackedString).toBeUndefined();
});
