import { afterAll, beforeAll, describe } from 'vitest';
import type { Topology } from '../topologies/topology.ts';
import { badInputBehaviour } from './bad-input.ts';
import { chatCompletionsBehaviour } from './chat-completions.ts';
import { failoverBehaviour } from './failover.ts';
import { hangUpBehaviour } from './hang-up.ts';
import { limitsBehaviour } from './limits.ts';
import { modelsBehaviour } from './models.ts';
import { usageBehaviour } from './usage.ts';

/** Everything that a gateway does, whatever it is made of. */
export function describeGateway<T extends Topology>(
  name: string,
  start: () => Promise<T>,
  more: (gateway: () => T) => void = () => undefined,
): void {
  describe(name, () => {
    let topology: T | undefined;
    const gateway = () => {
      if (topology === undefined) throw new Error('the gateway has not started');
      return topology;
    };
    beforeAll(async () => {
      topology = await start();
    });
    afterAll(async () => {
      await topology?.[Symbol.asyncDispose]();
    });

    modelsBehaviour(gateway);
    chatCompletionsBehaviour(gateway);
    limitsBehaviour(gateway);
    usageBehaviour(gateway);
    badInputBehaviour(gateway);
    failoverBehaviour(gateway);
    hangUpBehaviour(gateway);
    more(gateway);
  });
}
