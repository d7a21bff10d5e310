import { type EncryptionKey, parseEncryptionKeys } from '@gateway/config/encryption';
import type { GatewayDatabase } from '@gateway/database';
import { testDatabases } from '@gateway/database/testing';
import { expect, onTestFinished } from 'vitest';

/** Keys with these ids, the same each time. */
export function keysOf(...ids: string[]): readonly EncryptionKey[] {
  const text = ids.map((id) => `${id}:${Buffer.alloc(32, id).toString('base64')}`).join();
  return parseEncryptionKeys(text) ?? expect.fail('no keys can be read from this text');
}

/** An empty database with all tables, removed after the test. */
export async function databaseOfTest(kind: 'SQLite' | 'Postgres'): Promise<GatewayDatabase> {
  const opened = await (testDatabases.find(({ name }) => name === kind) ?? expect.fail()).open();
  onTestFinished(() => opened[Symbol.asyncDispose]());
  return opened.database;
}

/** Every kind of database in which replicas can share credentials. */
export const waysToShare = ['SQLite', 'Postgres'] as const;
