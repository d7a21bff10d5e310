import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePorts, ManagedProcess } from '@gateway/testkit';
import { roomMs } from '@gateway/testkit/room';
import { createTokenText } from '@gateway/tokens';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { podsIn } from './__fixtures__/pods.ts';
import { type Rendered, renderFolder } from './__fixtures__/rendered.ts';

const root = join(import.meta.dirname, '../../..');
const run = promisify(execFile);

describe('the small form', () => {
  let objects: readonly Rendered[];

  beforeAll(async () => {
    objects = await renderFolder('overlays/small');
  });

  it('is one pod that nothing else is needed for', () => {
    expect(objects.map(({ kind, name }) => `${kind}/${name}`).toSorted()).toEqual([
      'ConfigMap/gateway-config',
      'ConfigMap/gateway-settings',
      'NetworkPolicy/gateway',
      'PodDisruptionBudget/gateway',
      'Service/admin',
      'Service/gateway',
      'StatefulSet/gateway',
    ]);
    const [gateway] = podsIn(objects);
    expect(gateway?.spec.initContainers).toEqual([]);
    const [container] = gateway?.spec.containers ?? [];
    expect(container?.args).toEqual(['all-in-one']);
    expect(container?.env.map(({ name }) => name)).not.toEqual(expect.arrayContaining(['DATABASE_URL']));
    expect(container?.resources.requests).toEqual({ cpu: '250m', memory: '1600Mi' });
    const [set] = objects.filter(({ kind }) => kind === 'StatefulSet');
    // Two would count limits separately.
    expect(set?.document.spec).toMatchObject({ replicas: 1 });
  });

  it('opens its public port to all, and its admin port to operators and Prometheus', () => {
    const [policy] = objects.filter(({ kind }) => kind === 'NetworkPolicy');
    const { ingress, egress } = Object(policy?.document.spec);
    expect(ingress.map(({ ports }: { ports: object }) => ports)).toEqual(
      [8080, 9090, 9090].map((port) => [{ protocol: 'TCP', port }]),
    );
    expect(ingress[0].from).toEqual([]);
    expect(JSON.stringify(ingress.slice(1))).toMatch(/model-gateway\/operator.*prometheus/);
    expect(JSON.stringify(egress)).toContain('"except":["169.254.0.0/16"]');
  });

  it('starts with its own settings, and passes the smoke test that the workflow runs in a cluster', async () => {
    const { adminToken, baseUrl, env, stop } = await startPod(objects);
    const gatewayctl = [join(root, 'services/gatewayctl/bin/main.js'), 'token', 'create', '--label', 'smoke'];
    const { stdout } = await run(process.execPath, [...gatewayctl, '--output', 'json'], {
      env: { ...env, GATEWAY_ADMIN_TOKEN: adminToken },
    });
    const [token = ''] = /gw_\w+/.exec(stdout) ?? [];
    expect(await smoke(baseUrl, token)).toMatchObject({ code: 0, printed: expect.stringContaining('were counted') });
    expect(await smoke(baseUrl, `${token}x`)).toMatchObject({ code: 1, printed: expect.stringContaining('FAIL') });
    await stop();
    expect(await smoke(baseUrl, token)).toMatchObject({ code: 1, printed: expect.stringContaining('ECONNREFUSED') });
  });
});

/** Runs what the container would run, with its environment, on ports and in a folder of its own. */
async function startPod(objects: readonly Rendered[]) {
  const folder = await mkdtemp(join(tmpdir(), 'small-form-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const [port = 0, adminPort = 0] = await freePorts(2);
  const adminToken = createTokenText('operator');
  const maps = new Map(
    objects.flatMap(({ kind, name, document }) => (kind === 'ConfigMap' ? [[name, dataOf(document)] as const] : [])),
  );
  const config = join(folder, 'gateway.yaml');
  await writeFile(config, maps.get('gateway-config')?.['gateway.yaml'] ?? '');
  const [container] = podsIn(objects)[0]?.spec.containers ?? [];
  const fixed = container?.env.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value] as const]));
  const env = {
    PATH: process.env.PATH,
    ...maps.get('gateway-settings'),
    ...Object.fromEntries(fixed ?? []),
    HOST: '127.0.0.1',
    PORT: String(port),
    ADMIN_PORT: String(adminPort),
    GATEWAY_DATA: join(folder, 'data'),
    GATEWAY_CONFIG: config,
    TOKEN_HASH_KEY: Buffer.alloc(32, 1).toString('base64'),
    ACCOUNT_KEYS: `k1:${Buffer.alloc(32, 2).toString('base64')}`,
    ADMIN_TOKEN: adminToken,
  };
  const adminUrl = `http://127.0.0.1:${adminPort}`;
  const gateway = new ManagedProcess({
    name: 'the gateway',
    command: process.execPath,
    parameters: [join(root, 'services/all-in-one/src/main.ts')],
    env,
    cwd: folder,
    stopSignal: 'SIGTERM',
    stopTimeoutMs: roomMs(10_000),
    ping: async () => {
      const { status } = await fetch(`${adminUrl}${container?.readinessProbe?.httpGet?.path}`);
      if (status !== 200) throw new Error(`/readyz answers ${status}`);
    },
  });
  onTestFinished(() => gateway[Symbol.asyncDispose]());
  await gateway.restart();
  return {
    adminToken,
    baseUrl: `http://127.0.0.1:${port}`,
    env: { PATH: env.PATH, GATEWAY_ADMIN_URL: adminUrl },
    stop: () => gateway.stop(),
  };
}

async function smoke(baseUrl: string, token: string) {
  const program = join(root, 'deploy/scripts/gateway-smoke.ts');
  const env = { PATH: process.env.PATH, GATEWAY_TOKEN: token };
  return run(process.execPath, [program, '--base-url', baseUrl], { env }).then(
    ({ stdout }) => ({ code: 0, printed: stdout }),
    ({ code, stdout, stderr }) => ({ code, printed: `${stdout}${stderr}` }),
  );
}

function dataOf(document: Rendered['document']): Readonly<Record<string, string>> {
  return z.looseObject({ data: z.record(z.string(), z.string()) }).parse(document).data;
}
