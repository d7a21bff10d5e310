import { afterAll, beforeAll, describe } from 'vitest';
import type { Topology } from './topology.ts';

/** Tests of one running gateway, which is started before them and stopped after them. */
export function describeTopology<T extends Topology>(
  name: string,
  start: () => Promise<T>,
  behaviours: (gateway: () => T) => void,
): void {
  describe(name, () => {
    let topology: T | undefined;
    beforeAll(async () => {
      topology = await start();
    });
    afterAll(async () => {
      await topology?.[Symbol.asyncDispose]();
    });

    behaviours(() => {
      if (topology === undefined) throw new Error('the gateway has not started');
      return topology;
    });
  });
}
