import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { migratePostgres } from '@gateway/database/postgres';
import { createLogger, Metrics } from '@gateway/telemetry';
import { createTestDatabase } from '@gateway/testkit';
import { createTokenText } from '@gateway/tokens';
import { expect, it } from 'vitest';
import { createAdminFromEnvironment } from '../src/service.ts';

it('runs as a process of its own, while the services behind it are away and its tables come late', async () => {
  await using stack = new AsyncDisposableStack();
  const { url } = stack.use(await createTestDatabase());
  const nowhere = 'http://127.0.0.1:9';
  const ADMIN_TOKEN = createTokenText('operator');
  const env = {
    DATABASE_URL: url,
    IDENTITY_URL: nowhere,
    POOL_BROKER_URL: nowhere,
    LIMITER_URL: nowhere,
    USAGE_QUERY_URL: nowhere,
    USAGE_INGEST_URL: nowhere,
    ADMIN_TOKEN,
  };
  const runtime = { logger: createLogger('admin', 'silent'), metrics: new Metrics() };
  const service = stack.use(await createAdminFromEnvironment(env, runtime));
  await service.start();
  expect(await service.notReady()).toContain('migrat');
  await migratePostgres(url);
  expect(await service.notReady()).toBeUndefined();

  const server = createServer(service.adminApp);
  stack.defer(() => void server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const call = (method: string, token: string, authorization = '') =>
    fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/gateway.admin.v1.SessionService/${method}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization },
      body: JSON.stringify({ token }),
    });
  const answer = await call('GetSession', '', `Bearer ${ADMIN_TOKEN}`);
  expect(await answer.json()).toMatchObject({ session: { operator: { name: 'admin', role: 'ROLE_ADMIN' } } });
  const away = await call('SignIn', createTokenText('service'));
  expect(await away.json()).toMatchObject({ code: 'unavailable' });
});
