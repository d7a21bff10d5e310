import { randomBytes } from 'node:crypto';
import { startNats, startPostgres, startRedis, type TestServer } from '@gateway/testkit';
import { missingPartContract } from '../behaviours/contract.ts';
import { describeSmoke } from '../behaviours/gateway.ts';
import { startAllInOne } from '../topologies/all-in-one.ts';
import type { Topology } from '../topologies/topology.ts';

interface SharedTopology extends Topology {
  readonly postgres: TestServer;
}

describeSmoke(
  'the all-in-one gateway on Redis, NATS and Postgres',
  async (): Promise<SharedTopology> => {
    await using stack = new AsyncDisposableStack();
    const redis = stack.use(await startRedis());
    const nats = stack.use(await startNats());
    // A gateway of its own, because the test kills it.
    const postgres = stack.use(await startPostgres());
    const gateway = stack.use(
      await startAllInOne('shared', {
        REDIS_URL: redis.url,
        NATS_URL: nats.url,
        DATABASE_URL: postgres.url,
        MIGRATE_AT_START: 'true',
        TOKEN_HASH_KEY: randomBytes(32).toString('base64'),
      }),
    );
    const open = stack.move();
    return { ...gateway, postgres, [Symbol.asyncDispose]: () => open.disposeAsync() };
  },
  (gateway) => missingPartContract(gateway, ({ postgres }) => postgres),
);
