import fc from 'fast-check';
import { expect, it } from 'vitest';
import { handOverAdmissions } from './hand-over-admissions.ts';
import type { RecordedAdmission } from './limit-store.ts';

it('tells every admission once, of few at a time', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(1_300), { maxLength: 120 }), async (counts) => {
      const admissions = counts.map((count, key) => [`key-${key}`, admissionsOf(count)] as const);
      const told = new Map<string, RecordedAdmission[]>();
      let [onTheirWay, mostOnTheirWay] = [0, 0];
      const count = await handOverAdmissions(admissions, {
        async recordAdmissions(key, some) {
          told.set(key, [...(told.get(key) ?? []), ...some]);
          onTheirWay += some.length;
          mostOnTheirWay = Math.max(mostOnTheirWay, onTheirWay);
          await new Promise((resolve) => setImmediate(resolve));
          onTheirWay -= some.length;
        },
      });
      expect(count).toBe(counts.reduce((sum, each) => sum + each, 0));
      expect(mostOnTheirWay).toBeLessThanOrEqual(500);
      for (const [key, all] of admissions) expect(told.get(key) ?? []).toEqual(all);
    }),
    { numRuns: 30 },
  );
});

it('fails when the recorder does, and tells no more', async () => {
  let calls = 0;
  const recorder = {
    recordAdmissions: () => (++calls < 3 ? Promise.resolve() : Promise.reject(new Error('away'))),
  };
  await expect(handOverAdmissions([['key', admissionsOf(5_000)]], recorder)).rejects.toThrow('away');
  expect(calls).toBe(3);
});

function admissionsOf(count: number): readonly RecordedAdmission[] {
  return Array.from({ length: count }, (_, index) => ({ requestId: `r${index}`, ageMs: index }));
}
