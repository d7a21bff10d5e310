import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { directClient } from '@gateway/rpc';
import { createLogger, Metrics } from '@gateway/telemetry';
import { expect, it } from 'vitest';
import { gatewayWith, sampleAccount } from '../__fixtures__/sample-gateway.ts';
import { createPoolBrokerService } from '../service.ts';
import { MemoryPoolStore } from '../store/memory-pool-store.ts';
import { affinityIdOf } from './read-candidates.ts';

it('a session does not stay with an account from which its reasoning was withheld, but the answer does', async () => {
  const store = new MemoryPoolStore();
  const runtime = { logger: createLogger('test', 'silent'), metrics: new Metrics() };
  const gateway = gatewayWith([sampleAccount('responses', 'a')]);
  const pools = directClient(createPoolBrokerService({ gateway }, runtime, { store }).routes[0]);
  const boundAfter = async (affinityMissed: boolean) => {
    const { result } = await pools.acquire({ model: 'gateway/sterk', affinityKey: 'session' });
    const lease = result.case === 'lease' ? result.value : expect.fail('no lease');
    const attempt = { lease, report: { result: AttemptResult.SUCCEEDED, affinityMissed } };
    await pools.report({ attempt, affinityKey: 'session', answerKeys: ['answer'] });
    const keys = ['session', 'answer'].map((key) => store.boundAccount(affinityIdOf('responses', key)));
    return await Promise.all(keys);
  };
  expect(await boundAfter(false)).toEqual(['responses/a', 'responses/a']);
  expect(await boundAfter(true)).toEqual([undefined, 'responses/a']);
});
