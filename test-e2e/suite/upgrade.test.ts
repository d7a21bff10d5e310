import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { createTestDatabase } from '@gateway/testkit';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { chat } from '../client/chat.ts';
import { usageOf } from '../client/usage.ts';
import { startAllInOne } from '../topologies/all-in-one.ts';
import { gatewayctl } from '../topologies/gateway-process.ts';
import { commandLineSettings } from '../topologies/topology.ts';

/** Databases of the release before: see deploy/release/schema-fixture.ts. */
const fixture = join(import.meta.dirname, '../../libs/database/test/__fixtures__/0.1.0');

interface Keys {
  readonly keys: Readonly<Record<string, string>>;
  readonly tokens: Readonly<Record<'sqlite' | 'postgres', string>>;
}

describe.each(['sqlite', 'postgres'] as const)('the gateway on a database of the release before, in %s', (engine) => {
  it('brings it up to date, and knows its tokens, limits and accounts', async () => {
    await using stack = new AsyncDisposableStack();
    const { keys, tokens } = JSON.parse(await readFile(join(fixture, 'keys.json'), 'utf8')) as Keys;
    const dump = await readFile(join(fixture, `${engine}.sql`), 'utf8');
    const env = { ...keys, ...(await (engine === 'sqlite' ? fileOf : databaseOf)(dump, stack)) };
    const { exitCode, stderr } = await gatewayctl(['migrate'], env);
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('is up to date') });
    const gateway = stack.use(await startAllInOne('upgraded', env));
    const token = tokens[engine];
    expect((await chat(gateway, token, { model: 'gateway/claude' })).status).toBe(200);
    await expect.poll(async () => (await usageOf(gateway, token)).today.requests).toBeGreaterThan(0);
    expect(await usageOf(gateway, token)).toMatchObject({
      token: { kind: 'service', label: 'kept' },
      limits: { requestsPerMinute: { limit: 600 }, tokensPerDay: { limit: 1_000_000 } },
    });
    const { stdout } = await gatewayctl(['account', 'list'], commandLineSettings(gateway));
    expect(stdout).toMatch(/^responses +kept +draining/m);
  });
});

async function fileOf(dump: string, stack: AsyncDisposableStack): Promise<Readonly<Record<string, string>>> {
  const folder = await mkdtemp(join(tmpdir(), 'gateway-upgrade-'));
  stack.defer(() => rm(folder, { recursive: true }));
  await mkdir(join(folder, 'data'), { mode: 0o700 });
  using database = new DatabaseSync(join(folder, 'data/gateway.sqlite'));
  database.exec(dump);
  return { GATEWAY_DATA: join(folder, 'data') };
}

async function databaseOf(dump: string, stack: AsyncDisposableStack): Promise<Readonly<Record<string, string>>> {
  const { url } = stack.use(await createTestDatabase());
  const database = new pg.Client({ connectionString: url });
  await database.connect();
  await database.query(dump).finally(() => database.end());
  return { DATABASE_URL: url };
}
