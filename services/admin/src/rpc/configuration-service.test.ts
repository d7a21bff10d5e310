import { EnvReader } from '@gateway/config';
import { ConfigurationService } from '@gateway/proto/admin/v1/configuration_service_pb.js';
import { GroupService } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { PoolBrokerService, PoolOperatorService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { RpcError } from '@gateway/rpc';
import { describe, expect, it } from 'vitest';
import { fieldsOf, peer, rpcWorld } from '../__fixtures__/rpc-world.ts';
import type { ReplicaDirectory } from '../parts.ts';
import { configurationService } from './configuration-service.ts';

const poolOperator = peer(PoolOperatorService, {
  getGatewayFile: () => ({ file: { path: '/etc/gateway.yaml', currency: 'EUR' } }),
  checkGatewayFile: ({ text }) => ({ changes: [`~ ${text}`] }),
});

const redis = { name: 'REDIS_URL', value: 'redis://(set)@redis', origin: 'file' } as const;
const replicas: ReplicaDirectory = {
  read: async () => [],
  settings: async () => [
    {
      ...{ service: 'limiter', address: '10.0.0.1:9090', problem: undefined },
      settings: [{ name: 'TOKEN_CACHE_SECONDS', value: '30', origin: 'default' }, redis],
    },
    {
      ...{ service: 'limiter', address: '10.0.0.2:9090', problem: undefined },
      settings: [redis, { name: 'TOKEN_CACHE_SECONDS', value: '20', origin: 'environment' }],
    },
    {
      ...{ service: 'edge-router', address: '10.0.0.3:9090' },
      ...{ settings: undefined, problem: 'did not answer within 2 s' },
    },
  ],
};

describe('the configuration', () => {
  it("is the broker's file and the settings of the process, without secrets", async () => {
    const { client } = await rpcWorld(ConfigurationService, configurationService, { poolOperator, replicas });
    const reader = new EnvReader({ CS_SECRET: 'canary', CS_COUNT: '3' });
    reader.optional('CS_SECRET');
    reader.integer('CS_COUNT', 1);
    const { file, settings } = await client.getConfiguration({});
    expect(file).toMatchObject({ path: '/etc/gateway.yaml', currency: 'EUR' });
    expect(settings.filter(({ name }) => name.startsWith('CS_'))).toMatchObject([
      { service: 'admin', name: 'CS_COUNT', value: '3', origin: 'environment' },
      { service: 'admin', name: 'CS_SECRET', value: '(set)', origin: 'environment' },
    ]);
  });

  it('has the settings of services in other processes, once if their replicas agree', async () => {
    const { client } = await rpcWorld(ConfigurationService, configurationService, { poolOperator, replicas });
    const { settings, silent } = await client.getConfiguration({});
    expect(settings.filter(({ service }) => service === 'limiter')).toMatchObject([
      { name: 'REDIS_URL', value: 'redis://(set)@redis', origin: 'file', address: '' },
      { name: 'TOKEN_CACHE_SECONDS', value: '30', origin: 'default', address: '10.0.0.1:9090' },
      { name: 'TOKEN_CACHE_SECONDS', value: '20', origin: 'environment', address: '10.0.0.2:9090' },
    ]);
    expect(silent).toEqual(['edge-router at 10.0.0.3:9090: did not answer within 2 s']);
  });

  it('has the settings of the other services while the broker is away', async () => {
    const getGatewayFile = () => {
      throw new RpcError('unavailable', "The pool-broker (10.0.0.4:50051) can't be reached.");
    };
    const away = peer(PoolOperatorService, { getGatewayFile });
    const { client } = await rpcWorld(ConfigurationService, configurationService, { poolOperator: away, replicas });
    const { file, settings, silent } = await client.getConfiguration({});
    expect(file).toBeUndefined();
    expect(settings.filter(({ service }) => service === 'limiter')).toHaveLength(3);
    expect(silent[0]).toBe("gateway.yaml: The pool-broker (10.0.0.4:50051) can't be reached.");
  });

  it('names models without a price if there are prices or budgets', async () => {
    const budgeted = { limits: { budget: { amountMicros: 1 } } };
    const withoutPrice = async (hasPrices: boolean, groups: readonly object[]) => {
      const prices = hasPrices ? [{ model: 'a' }] : [];
      const classes = [{ id: 'gateway/x', candidates: ['responses/b/1', 'responses/a'] }];
      const operator = peer(PoolOperatorService, {
        getGatewayFile: () => ({ file: { prices, classes } }),
        checkGatewayFile: () => ({ hasPrices, modelsWithoutPrice: ['c'] }),
      });
      const broker = peer(PoolBrokerService, { listModels: () => ({ models: [{ id: 'd', candidates: ['d'] }] }) });
      const identity = peer(GroupService, { listGroups: () => ({ groups: [...groups] }) });
      const peers = { poolOperator: operator, broker, groups: identity, replicas };
      const { client } = await rpcWorld(ConfigurationService, configurationService, peers);
      const [running, checked] = [await client.getConfiguration({}), await client.checkConfiguration({ text: 'a' })];
      return [running.modelsWithoutPrice, checked.modelsWithoutPrice];
    };
    expect(await withoutPrice(true, [])).toEqual([['d', 'b/1'], ['c']]);
    expect(await withoutPrice(false, [budgeted])).toEqual([['d', 'b/1', 'a'], ['c']]);
    expect(await withoutPrice(false, [{}])).toEqual([[], []]);
  });

  it('is checked by the broker, where there is something to check', async () => {
    const { client, audited } = await rpcWorld(ConfigurationService, configurationService, { poolOperator, replicas });
    expect(await client.checkConfiguration({ text: 'a' })).toMatchObject({ problems: [], changes: ['~ a'] });
    expect(await audited()).toEqual([
      {
        ...{ actor: 'ada', action: 'configuration.check', subject: 'gateway.yaml', outcome: 'done' },
        after: { problems: 0, changes: 1 },
      },
    ]);
    expect(Object.keys(await fieldsOf(client.checkConfiguration({ text: ' ' })))).toEqual(['text']);
  });
});
