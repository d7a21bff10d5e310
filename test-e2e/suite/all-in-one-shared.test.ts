import { randomBytes } from 'node:crypto';
import { describeGateway } from '../behaviours/gateway.ts';
import { startAllInOne } from '../topologies/all-in-one.ts';
import { ownBackends } from '../topologies/own-backends.ts';
import type { Topology } from '../topologies/topology.ts';

describeGateway('the all-in-one gateway on Redis, NATS and Postgres', async (): Promise<Topology> => {
  await using stack = new AsyncDisposableStack();
  const { redisUrl, natsUrl, postgresUrl } = await ownBackends(stack);
  const gateway = stack.use(
    await startAllInOne('shared', {
      REDIS_URL: redisUrl,
      NATS_URL: natsUrl,
      DATABASE_URL: postgresUrl,
      MIGRATE_AT_START: 'true',
      TOKEN_HASH_KEY: randomBytes(32).toString('base64'),
    }),
  );
  const open = stack.move();
  return { ...gateway, [Symbol.asyncDispose]: () => open.disposeAsync() };
});
