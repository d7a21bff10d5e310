import { Code } from '@connectrpc/connect';
import { PoolService } from '@gateway/proto/admin/v1/pool_service_pb.js';
import { PoolBrokerService, PoolOperatorService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { scopedKey } from '@gateway/tokens';
import { describe, expect, it } from 'vitest';
import { fieldsOf, peer, rpcWorld } from '../__fixtures__/rpc-world.ts';
import { poolService } from './pool-service.ts';

async function worldOf() {
  let asked = 0;
  let inFlight = 0;
  const explained: string[] = [];
  const broker = peer(PoolBrokerService, {
    listPools: () => ({ pools: [{ name: 'responses' }, { name: 'messages' }] }),
    listModels: () => ({
      models: [
        { id: 'gateway/sterk', ownedBy: 'gateway' },
        { id: 'gpt-5.5', ownedBy: 'a' },
      ],
    }),
    listAccounts: ({ pool }) => {
      asked += 1;
      const accounts = ['responses', 'messages'].map((name) => ({ id: `${name}/a`, pool: name, inFlight }));
      return {
        accounts: accounts.filter((account) => pool === '' || account.pool === pool),
        forecasts: [{ pool: 'messages' }],
      };
    },
    explain: ({ affinityKey }) => {
      explained.push(affinityKey);
      return { candidates: [{ pool: 'responses', model: 'gpt-5.5' }] };
    },
  });
  const classes = [{ id: 'gateway/sterk', name: 'Sterk', effort: 'high', candidates: ['responses/gpt-5.5'] }];
  const poolOperator = peer(PoolOperatorService, { getGatewayFile: () => ({ file: { classes } }) });
  const world = await rpcWorld(PoolService, poolService, { broker, poolOperator });
  const change = () => {
    inFlight += 1;
  };
  return { ...world, explained, change, asked: () => asked };
}

describe('pools', () => {
  it('are listed with their accounts and forecasts, the classes on them, and the models that clients see', async () => {
    const { client } = await worldOf();
    const { overview, models } = await client.listPools({});
    expect(models.map(({ id }) => id)).toEqual(['gateway/sterk', 'gpt-5.5']);
    expect(overview).toMatchObject({
      pools: [
        { pool: { name: 'responses' }, accounts: [{ id: 'responses/a' }], forecasts: [] },
        { pool: { name: 'messages' }, accounts: [{ id: 'messages/a' }], forecasts: [{ pool: 'messages' }] },
      ],
      classes: [{ id: 'gateway/sterk', candidates: ['responses/gpt-5.5'] }],
    });
    const one = await client.listPools({ pool: 'messages' });
    expect(one.overview?.pools.map(({ pool }) => pool?.name)).toEqual(['messages']);
    await expect(client.listPools({ pool: 'none' })).rejects.toMatchObject({ code: Code.NotFound });
  });

  it('are shown again when something changed, and not otherwise', async () => {
    const { client, change, asked } = await worldOf();
    const controller = new AbortController();
    const seen: (number | undefined)[] = [];
    const watching = (async () => {
      for await (const { overview } of client.watchPools({}, { signal: controller.signal })) {
        seen.push(overview?.pools[0]?.accounts[0]?.inFlight);
      }
    })().catch(() => undefined);
    const afterThreeLooks = async () => {
      const before = asked();
      await expect.poll(asked).toBeGreaterThanOrEqual(before + 2);
    };
    await afterThreeLooks();
    expect(seen).toEqual([0]);
    change();
    await expect.poll(() => seen).toEqual([0, 1]);
    controller.abort();
    await watching;
  });
});

describe('explaining a model', () => {
  it("asks with the edge's key of the token's session", async () => {
    const { client, explained } = await worldOf();
    const { candidates } = await client.explainModel({ model: 'gpt-5.5', sessionId: 's1', tokenId: 't1' });
    expect(candidates).toMatchObject([{ pool: 'responses', model: 'gpt-5.5' }]);
    await client.explainModel({ model: 'gpt-5.5' });
    expect(explained).toEqual([scopedKey('t1', 's1'), '']);
  });

  it('needs a model, and a token with a session', async () => {
    const { client } = await worldOf();
    expect(Object.keys(await fieldsOf(client.explainModel({ sessionId: 's1' })))).toEqual(['model', 'tokenId']);
  });
});
