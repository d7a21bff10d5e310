import { randomBytes } from 'node:crypto';
import { startNats, startPostgres, startRedis } from '@gateway/testkit';
import { afterAll, beforeAll, describe } from 'vitest';
import { streamLimitsBehaviour } from '../behaviours/stream-limits.ts';
import { startAllInOne } from '../topologies/all-in-one.ts';
import { startServicesTopology } from '../topologies/services.ts';
import { streamLimitSettings, writeStreamLimitsFile } from '../topologies/stream-limits-file.ts';
import type { Topology } from '../topologies/topology.ts';

const settings = streamLimitSettings;
const writeFile = writeStreamLimitsFile;

const topologies: Readonly<Record<string, () => Promise<Topology>>> = {
  embedded: () => startAllInOne('stream-limits', settings, writeFile),
  workers: () => startAllInOne('stream-limits-workers', { ...settings, GATEWAY_WORKERS: '2' }, writeFile),
  shared: startShared,
  services: () => startServicesTopology('stream-limits-services', {}, { env: settings, writeFile }),
};

describe.each(Object.entries(topologies))('streams of a gateway with short limits: %s', (_name, start) => {
  let topology: Topology | undefined;
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

  streamLimitsBehaviour(gateway);
});

async function startShared(): Promise<Topology> {
  await using stack = new AsyncDisposableStack();
  const [redis, nats, postgres] = await Promise.all([startRedis(), startNats(), startPostgres()]);
  for (const server of [redis, nats, postgres]) stack.use(server);
  const backends = {
    REDIS_URL: redis.url,
    NATS_URL: nats.url,
    DATABASE_URL: postgres.url,
    MIGRATE_AT_START: 'true',
    TOKEN_HASH_KEY: randomBytes(32).toString('base64'),
  };
  const gateway = stack.use(await startAllInOne('stream-limits-shared', { ...settings, ...backends }, writeFile));
  const open = stack.move();
  return { ...gateway, [Symbol.asyncDispose]: () => open.disposeAsync() };
}
