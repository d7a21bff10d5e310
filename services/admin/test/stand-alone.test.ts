import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Environment } from '@gateway/config';
import { migratePostgres } from '@gateway/database/postgres';
import { createLogger, Metrics } from '@gateway/telemetry';
import { createTestDatabase } from '@gateway/testkit';
import { createTokenText } from '@gateway/tokens';
import { expect, it } from 'vitest';
import { type AdminService, createAdminFromEnvironment } from '../src/service.ts';

it('says that the database does not answer, to everyone who calls', async () => {
  await using stack = new AsyncDisposableStack();
  const nowhere = 'http://127.0.0.1:9';
  const service = stack.use(await startAdmin({ ...peersAt(nowhere), DATABASE_URL: 'postgres://127.0.0.1:9/gateway' }));
  await service.start();
  expect(await service.notReady()).toBe('DATABASE_URL: the database does not answer');
  const call = await callerOf(service, stack);
  const answer = await call('GetSession', '', `Bearer ${createTokenText('operator')}`);
  expect(answer.status).toBe(503);
  expect(await answer.json()).toEqual({ code: 'unavailable', message: 'The database does not answer.' });
});

it('runs as a process of its own, while the services behind it are away and its tables come late', async () => {
  await using stack = new AsyncDisposableStack();
  const { url } = stack.use(await createTestDatabase());
  const nowhere = 'http://127.0.0.1:9';
  const ADMIN_TOKEN = createTokenText('operator');
  const service = stack.use(await startAdmin({ ...peersAt(nowhere), DATABASE_URL: url, ADMIN_TOKEN }));
  await service.start();
  expect(await service.notReady()).toContain('migrat');
  await migratePostgres(url);
  expect(await service.notReady()).toBeUndefined();

  const call = await callerOf(service, stack);
  const answer = await call('GetSession', '', `Bearer ${ADMIN_TOKEN}`);
  expect(await answer.json()).toMatchObject({ session: { operator: { name: 'admin', role: 'ROLE_ADMIN' } } });
  const away = await call('SignIn', createTokenText('service'));
  expect(await away.json()).toMatchObject({ code: 'unavailable' });
});

function startAdmin(env: Environment): Promise<AdminService> {
  const runtime = { logger: createLogger('admin', 'silent'), metrics: new Metrics() };
  return createAdminFromEnvironment(env, runtime);
}

function peersAt(url: string) {
  return { IDENTITY_URL: url, POOL_BROKER_URL: url, LIMITER_URL: url, USAGE_QUERY_URL: url, USAGE_INGEST_URL: url };
}

/** Calls methods of the session service over HTTP. */
async function callerOf({ adminApp }: AdminService, stack: AsyncDisposableStack) {
  const server = createServer(adminApp);
  stack.defer(() => void server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return (method: string, token: string, authorization = '') =>
    fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/gateway.admin.v1.SessionService/${method}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization },
      body: JSON.stringify({ token }),
    });
}
