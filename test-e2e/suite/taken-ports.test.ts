import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts, serviceNames, servicePlan, type TopologyAddresses } from '@gateway/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type FinishedCommand, gatewayctl, startCommand, startGatewayctl } from '../topologies/gateway-process.ts';
import { ownBackends } from '../topologies/own-backends.ts';

/** No start takes so long, even on a busy machine. */
const endsWithinMs = 45_000;

describe('a process whose port is taken', () => {
  const stack = new AsyncDisposableStack();
  let folder = '';
  let addresses: TopologyAddresses;
  let taken = 0;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gateway-taken-ports-'));
    stack.defer(() => rm(folder, { recursive: true, force: true }));
    const backends = await ownBackends(stack);
    expect((await gatewayctl(['migrate'], { DATABASE_URL: backends.postgresUrl })).exitCode).toBe(0);
    const [edgePort = 0, ...ports] = await freePorts(1 + 2 * serviceNames.length);
    const portsOf = (index: number) => ({ grpc: ports[2 * index] ?? 0, admin: ports[2 * index + 1] ?? 0 });
    addresses = {
      // Of all services: each test starts one of them.
      ports: Object.fromEntries(
        serviceNames.map((name, index) => [name, portsOf(index)]),
      ) as TopologyAddresses['ports'],
      edgePort,
      backends,
      dataFolder: join(folder, 'edge'),
      tokenHashKey: Buffer.alloc(32, 7).toString('base64'),
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
    expect(stderr).toContain(`can't start: 127.0.0.1:${taken} is taken`);
    expect(stderr.match(/can't start/g)).toHaveLength(1);
    expect(stderr).not.toContain('    at ');
  };

  const withGrpc = serviceNames.filter((name) => name !== 'edge-router');
  it.each([
    ...serviceNames.map((name) => ({ name, variable: 'ADMIN_PORT', more: {} })),
    ...withGrpc.map((name) => ({ name, variable: 'GRPC_PORT', more: {} })),
    { name: 'edge-router' as const, variable: 'PORT', more: {} },
    { name: 'edge-router' as const, variable: 'ADMIN_PORT', more: { EDGE_WORKERS: '2' } },
    { name: 'edge-router' as const, variable: 'PORT', more: { EDGE_WORKERS: '2' } },
  ])('says so and ends: $name, $variable $more', async ({ name, variable, more }) => {
    const { command, parameters, env } = servicePlan(name, addresses, { env: {} });
    const settings = Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined);
    await using service = startCommand(command, parameters, {
      ...Object.fromEntries(settings),
      // Of the broker: without an account it does not start.
      OPENAI_API_KEY: 'any',
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
