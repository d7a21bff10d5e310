import fc from 'fast-check';
import { expect, it } from 'vitest';
import { JsonSkimmer } from './json-scanner.ts';

it('tracks where a key ends, at any depth and in whatever chunks, and no value that reads the same', () => {
  const name = fc.constantFrom('seal', 'sea', 'seals', 'text');
  const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom('seal', 1, null),
      fc.dictionary(name, tie('tree')),
      fc.array(tie('tree')),
    ),
  }));
  fc.assert(
    fc.property(tree, fc.integer({ min: 1, max: 20 }), (value, chunkBytes) => {
      const text = JSON.stringify(value);
      const bytes = Buffer.from(text);
      const skimmer = new JsonSkimmer({ notedKey: 'seal' });
      for (let start = 0; start < bytes.length; start += chunkBytes)
        skimmer.push(bytes.slice(start, start + chunkBytes));
      skimmer.end();
      expect(skimmer.notedKeyEnds).toEqual([...text.matchAll(/"seal":/g)].slice(-100).map(({ index }) => index + 6));
    }),
    { numRuns: 500 },
  );
});

it('tracks none when none was asked for', () => {
  const skimmer = new JsonSkimmer();
  skimmer.push(Buffer.from('{"seal":1}'));
  expect(skimmer.notedKeyEnds).toEqual([]);
});
