import { createTestDatabase, startNats, startRedis, type TestBackends } from '@gateway/testkit';

/**
 * Redis and NATS for one topology only, and a database of its own: their keys and streams have
 * fixed names, so two gateways on one server would be one gateway.
 */
export async function ownBackends(stack: AsyncDisposableStack): Promise<TestBackends> {
  const redis = stack.use(await startRedis());
  const nats = stack.use(await startNats());
  const database = stack.use(await createTestDatabase());
  return { redisUrl: redis.url, natsUrl: nats.url, postgresUrl: database.url };
}
