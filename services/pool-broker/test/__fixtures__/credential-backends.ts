import { randomUUID } from 'node:crypto';
import type { GatewayDatabase } from '@gateway/database';
import { testDatabases } from '@gateway/database/testing';
import { testBackends } from '@gateway/testkit';
import type { Redis } from 'ioredis';
import { expect, onTestFinished } from 'vitest';
import type { StorageBackends } from '../../src/credentials/credential-storage.ts';
import { type AccountKey, parseAccountKeys } from '../../src/credentials/sealing/account-key.ts';
import { openRedisConnection } from '../../src/store/redis-connection.ts';

/** A key of the given id, the same each time. */
export function keysOf(...ids: string[]): readonly AccountKey[] {
  const text = ids.map((id) => `${id}:${Buffer.alloc(32, id).toString('base64')}`).join();
  return parseAccountKeys(text) ?? expect.fail('these are no keys');
}

/** A connection to the shared Redis that ends with the test. */
export async function redisOfTest(): Promise<Redis> {
  const redis = await openRedisConnection((await testBackends()).redisUrl, 5_000);
  onTestFinished(() => redis.disconnect());
  return redis;
}

/** An empty database with all tables that goes with the test. */
export async function databaseOfTest(kind: 'SQLite' | 'Postgres'): Promise<GatewayDatabase> {
  const opened = await (testDatabases.find(({ name }) => name === kind) ?? expect.fail()).open();
  onTestFinished(() => opened[Symbol.asyncDispose]());
  return opened.database;
}

/** What several brokers of a test share. A replica asks for its own connections. */
export type SharedPlaces = () => Promise<StorageBackends>;

/** Every way in which replicas can share credentials. */
export const waysToShare: readonly (readonly [string, () => Promise<SharedPlaces>])[] = [
  ['Redis', onRedis],
  ['SQLite', async () => onDatabase('SQLite')],
  ['Postgres', async () => onDatabase('Postgres')],
  ['Redis and Postgres', onRedisAndPostgres],
];

async function onRedis(): Promise<SharedPlaces> {
  const keyPrefix = `test-${randomUUID()}:`;
  return async () => ({ redis: await redisOfTest(), keyPrefix });
}

async function onDatabase(kind: 'SQLite' | 'Postgres'): Promise<SharedPlaces> {
  const database = await databaseOfTest(kind);
  return async () => ({ database });
}

async function onRedisAndPostgres(): Promise<SharedPlaces> {
  const [redis, database] = [await onRedis(), await onDatabase('Postgres')];
  return async () => ({ ...(await redis()), ...(await database()) });
}
