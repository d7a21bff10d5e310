import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { RecordedAdmission } from '../windows/decide.ts';
import { recordAll } from './limit-store.ts';

it('records every admission once, a few at a time', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(1_300), { maxLength: 120 }), async (counts) => {
      const admissions = counts.flatMap((count, key) => admissionsOf(`key-${key}`, count));
      const recorded = new Map<string, RecordedAdmission[]>();
      let [underWay, mostUnderWay] = [0, 0];
      await recordAll(
        {
          async recordAdmissions(key, some) {
            recorded.set(key, [...(recorded.get(key) ?? []), ...some]);
            underWay += some.length;
            mostUnderWay = Math.max(mostUnderWay, underWay);
            await new Promise((resolve) => setImmediate(resolve));
            underWay -= some.length;
          },
        },
        admissions,
      );
      expect(mostUnderWay).toBeLessThanOrEqual(500);
      for (const [key, all] of Map.groupBy(admissions, (each) => each.key)) expect(recorded.get(key)).toEqual(all);
    }),
    { numRuns: 30 },
  );
});

it('fails when the store does, and records no more', async () => {
  let calls = 0;
  const store = { recordAdmissions: () => (++calls < 3 ? Promise.resolve() : Promise.reject(new Error('away'))) };
  await expect(recordAll(store, admissionsOf('key', 5_000))).rejects.toThrow('away');
  expect(calls).toBe(3);
});

function admissionsOf(key: string, count: number) {
  return Array.from({ length: count }, (_, index) => ({ key, requestId: `r${index}`, ageMs: index }));
}
