import { beforeAll, describe, expect, it } from 'vitest';
import type { PoolScene } from './pool-scene.ts';
import { providerLimits } from './provider-limits.ts';
import { providerRefusals } from './provider-refusals.ts';
import { providerStreams } from './provider-streams.ts';

/** All faults of providers, while clients of other accounts continue. */
export function providerFaults(scene: () => PoolScene, options: { readonly outageSeconds: number }): void {
  describe('while providers fail', () => {
    let before = 0;
    beforeAll(() => {
      before = scene().load.requests.length;
    });

    providerRefusals(scene);
    providerStreams(scene);
    providerLimits(scene, options);

    it('the requests of all others are answered as ever', () => {
      const others = scene().load.requests.slice(before);
      expect(others.length).toBeGreaterThan(20);
      expect(others.filter(({ view }) => view !== 'whole' && view !== 'left')).toEqual([]);
    });
  });
}
