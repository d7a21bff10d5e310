import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts, startPostgres } from '@gateway/testkit';
import { expect, it, vi } from 'vitest';
import { gatewayctl, startGatewayctl } from '../topologies/gateway-process.ts';

vi.setConfig({ testTimeout: 120_000 });

it('the gateway in one place ends with what to run if its database lacks migrations, and starts after it', async () => {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'gateway-unmigrated-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const { url } = stack.use(await startPostgres());
  const [port, adminPort] = await freePorts(2);
  const env = {
    ...{ PORT: String(port), ADMIN_PORT: String(adminPort), GATEWAY_DATA: join(folder, 'data') },
    ...{ DATABASE_URL: url, TOKEN_HASH_KEY: randomBytes(32).toString('base64') },
  };
  const unmigrated = stack.use(startGatewayctl(['start'], env));
  const { exitCode, stdout, stderr } = await unmigrated.ended;
  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
  expect(stderr).toMatch(
    /^The gateway can't start:\n {2}- DATABASE_URL: the database lacks \d+ migrations\. Run gatewayctl migrate .*\n$/,
  );
  expect((await gatewayctl(['migrate'], env)).exitCode).toBe(0);
  const migrated = stack.use(startGatewayctl(['start'], env));
  await expect.poll(() => migrated.stdout()).toContain('Try it:');
});
