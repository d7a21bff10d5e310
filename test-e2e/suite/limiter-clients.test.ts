import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort, freePorts, programOf, testBackends } from '@gateway/testkit';
import { CertificateAuthority, type CertificateFiles } from '@gateway/testkit/certificates';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type LimiterClient, prepareLimiterClient, printedByClients } from '../docs/limiter-client.ts';
import { forgetCertificates, useCertificates } from '../topologies/certificates.ts';
import { startCommand, untilReady } from '../topologies/gateway-process.ts';
import { suiteSettings } from '../topologies/topology.ts';

const resources = new AsyncDisposableStack();
let limiterAddress: string;
let tlsAddress: string;
let ownCertificate: Readonly<Record<string, string>>;

beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'limiter-clients-'));
  resources.defer(() => rm(folder, { recursive: true, force: true }));
  const authority = await CertificateAuthority.create();
  const ofLimiter = await authority.writeFiles(folder, 'limiter', { names: ['limiter', 'localhost'] });
  ownCertificate = variablesOf(await authority.writeFiles(folder, 'search', { names: ['search.example.org'] }));
  await authority.writeFiles(folder, 'admin', { names: ['admin'] });
  resources.defer(forgetCertificates);
  useCertificates(folder);
  [limiterAddress, tlsAddress] = await Promise.all([
    startLimiter('http'),
    startLimiter('https', variablesOf(ofLimiter)),
  ]);
});

afterAll(() => resources.disposeAsync());

describe.each(['TypeScript', 'Python', 'Go'] as const)('the client of the limiter in %s', (language) => {
  let client: LimiterClient;

  beforeAll(async () => {
    client = resources.use(await prepareLimiterClient(language));
  });

  it('prints what its page says', async () => {
    expectLines(await client.run(limiterAddress), await printedByClients());
  });

  it('shows its certificate where the limiter speaks TLS', async () => {
    expectLines(await client.run(tlsAddress, ownCertificate), await printedByClients());
  });

  it('goes by its own rule when no limiter answers', async () => {
    const lines = await client.run(`localhost:${await freePort()}`);
    const unanswered = 'no limiter answered: this service goes by its own rule';
    expect(lines).toEqual([...Array(6).fill(unanswered), ...Array(3).fill(`in a batch: ${unanswered}`)]);
  });
});

/** A limiter of its own, on Redis. Returns its address. */
async function startLimiter(scheme: 'http' | 'https', env: Readonly<Record<string, string>> = {}): Promise<string> {
  const [port, adminPort] = await freePorts(2);
  const { redisUrl: REDIS_URL } = await testBackends();
  const ports = { HOST: '127.0.0.1', GRPC_PORT: String(port), ADMIN_PORT: String(adminPort) };
  const limiter = resources.use(
    startCommand(process.execPath, [programOf('limiter')], {
      ...suiteSettings,
      ...ports,
      ...env,
      REDIS_URL,
      LOG_LEVEL: 'warn',
    }),
  );
  await untilReady(`${scheme}://localhost:${adminPort}`, limiter);
  return `localhost:${port}`;
}

function variablesOf({ caFile, certFile, keyFile }: CertificateFiles): Readonly<Record<string, string>> {
  return { TLS_CA_FILE: caFile, TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile };
}

function expectLines(lines: readonly string[], expected: readonly RegExp[]): void {
  expect(lines).toEqual(expected.map((pattern) => expect.stringMatching(pattern)));
}
