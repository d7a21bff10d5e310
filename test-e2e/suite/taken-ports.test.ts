import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort, freePorts, programOf, serviceNames } from '@gateway/testkit';
import { roomMs } from '@gateway/testkit/room';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type FinishedCommand, gatewayctl, startCommand, startGatewayctl } from '../topologies/gateway-process.ts';
import { ownBackends } from '../topologies/own-backends.ts';

/** Longer than any start, even on a busy machine. */
const endsWithinMs = roomMs(45_000);

describe('a process whose port is taken', () => {
  const stack = new AsyncDisposableStack();
  let folder = '';
  /** Settings of all services: each test starts one of them. */
  let settings: Readonly<Record<string, string>>;
  let taken = 0;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gateway-taken-ports-'));
    stack.defer(() => rm(folder, { recursive: true, force: true }));
    const backends = await ownBackends(stack);
    expect((await gatewayctl(['migrate'], { DATABASE_URL: backends.postgresUrl })).exitCode).toBe(0);
    const [port, grpcPort, credentialPort, adminPort] = await freePorts(4);
    const peer = `http://127.0.0.1:${await freePort()}`;
    settings = {
      HOST: '127.0.0.1',
      PORT: String(port),
      GRPC_PORT: String(grpcPort),
      CREDENTIAL_PORT: String(credentialPort),
      ADMIN_PORT: String(adminPort),
      GATEWAY_DATA: join(folder, 'edge'),
      TOKEN_HASH_KEY: Buffer.alloc(32, 7).toString('base64'),
      REDIS_URL: backends.redisUrl,
      NATS_URL: backends.natsUrl,
      DATABASE_URL: backends.postgresUrl,
      LIMITER_URL: peer,
      POOL_BROKER_URL: peer,
      CREDENTIAL_URL: peer,
      RESPONSES_ADAPTER_URL: peer,
      MESSAGES_ADAPTER_URL: peer,
      IDENTITY_URL: peer,
      USAGE_QUERY_URL: peer,
      USAGE_INGEST_URL: peer,
      METRICS_URLS: `limiter=${peer}`,
      // For the broker: it does not start without an account.
      OPENAI_API_KEY: 'any',
    };
    const holder = createServer();
    stack.defer(() => void holder.close());
    await once(holder.listen(0, '127.0.0.1'), 'listening');
    const address = holder.address();
    taken = typeof address === 'object' && address !== null ? address.port : 0;
  });
  afterAll(() => stack.disposeAsync());

  const within = async (ended: Promise<FinishedCommand>) => {
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => late.reject(new Error('it lives on')), endsWithinMs);
    return Promise.race([ended, late.promise]).finally(() => clearTimeout(timer));
  };
  const expectRefusal = ({ exitCode, stderr }: FinishedCommand) => {
    expect(exitCode).toBe(1);
    expect(stderr).toContain(`can't start: 127.0.0.1:${taken} is in use by another process`);
    expect(stderr.match(/can't start/g)).toHaveLength(1);
    expect(stderr).not.toContain('    at ');
  };

  // The edge and the admin service speak only HTTP.
  const withGrpc = serviceNames.filter((name) => name !== 'edge-router' && name !== 'admin');
  it.each([
    ...serviceNames.map((name) => ({ name, variable: 'ADMIN_PORT', more: {} })),
    ...withGrpc.map((name) => ({ name, variable: 'GRPC_PORT', more: {} })),
    { name: 'edge-router' as const, variable: 'PORT', more: {} },
    { name: 'edge-router' as const, variable: 'ADMIN_PORT', more: { EDGE_WORKERS: '2' } },
    { name: 'edge-router' as const, variable: 'PORT', more: { EDGE_WORKERS: '2' } },
  ])('says so and ends: $name, $variable $more', async ({ name, variable, more }) => {
    await using service = startCommand(process.execPath, [programOf(name)], {
      ...settings,
      ...more,
      [variable]: String(taken),
    });
    expectRefusal(await within(service.ended));
  });

  it.each([
    ['PORT', '1'],
    ['ADMIN_PORT', '1'],
    ['PORT', '2'],
    ['ADMIN_PORT', '2'],
  ])('says so and ends: the gateway in one place, %s, workers: %s', async (variable, workers) => {
    const [port, adminPort] = await freePorts(2);
    await using gateway = startGatewayctl(['start', '--workers', workers], {
      PORT: String(port),
      ADMIN_PORT: String(adminPort),
      GATEWAY_DATA: join(folder, `data-${variable}-${workers}`),
      [variable]: String(taken),
    });
    expectRefusal(await within(gateway.ended));
  });
});
