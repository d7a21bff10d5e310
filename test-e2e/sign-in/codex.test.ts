import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type SignInProvider, startSignInProvider } from '@gateway/admin/__fixtures__/sign-in-provider';
import { PersonService } from '@gateway/proto/admin/v1/person_service_pb.js';
import { freePorts, programOf } from '@gateway/testkit';
import { roomMs } from '@gateway/testkit/room';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { adminClient } from '../client/operator.ts';
import { confirmCode, signInSettings } from '../client/person.ts';
import { type AllInOneTopology, startAllInOne } from '../topologies/all-in-one.ts';
import { startGatewayctl } from '../topologies/gateway-process.ts';
import { clientPackages, clientPrograms } from './client-programs.ts';

const run = promisify(execFile);

/** The real client, unchanged, with the command that prints the token of the person. */
describe(`${clientPackages.codex}`, () => {
  const stack = new AsyncDisposableStack();
  let provider: SignInProvider;
  let gateway: AllInOneTopology;
  let codex = '';
  let home = '';
  beforeAll(async () => {
    codex = join(await clientPrograms(), 'codex');
    home = await mkdtemp(join(tmpdir(), 'codex-'));
    stack.defer(() => rm(home, { recursive: true, force: true }));
    const [adminPort] = await freePorts(1);
    const consoleUrl = `http://127.0.0.1:${adminPort}`;
    provider = stack.use(await startSignInProvider(`${consoleUrl}/oidc/callback`));
    gateway = stack.use(
      await startAllInOne('codex', { ADMIN_PORT: String(adminPort), ...signInSettings(provider, consoleUrl) }),
    );
    provider.claims.set('dana', { email: 'dana@acme.test', email_verified: true });
    await mkdir(join(home, '.codex'));
    await writeFile(join(home, '.codex/config.toml'), configOf(gateway.baseUrl, home));
  }, roomMs(900_000));
  afterAll(() => stack.disposeAsync());

  const settings = () => ({ HOME: home, GATEWAY_URL: gateway.baseUrl });
  /** Asks one question, and returns the exit code and what is printed. */
  const ask = async () => {
    const env = { HOME: home, PATH: process.env.PATH ?? '' };
    const asking = run(codex, ['exec', '--skip-git-repo-check', 'Say hello'], {
      cwd: home,
      env,
      timeout: roomMs(60_000),
    });
    asking.child.stdin?.end();
    const { code = 0, stdout, stderr } = await asking.catch((failed) => failed);
    return { code, text: `${stdout}${stderr}` };
  };

  it('answers a person who has signed in on the command line, until the person is disabled', async () => {
    await using login = startGatewayctl(['login', '--person'], settings());
    await expect.poll(() => login.stderr(), { timeout: roomMs(10_000) }).toMatch(/compare the code/);
    const [, userCode = ''] = /compare the code: ([A-Z]{4}-[A-Z]{4})/.exec(login.stderr()) ?? [];
    await confirmCode(`${gateway.adminUrl}/device`, userCode, provider, 'dana');
    const { exitCode, stderr } = await login.ended;
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: expect.stringContaining('as dana@acme.test') });
    expect(await ask()).toMatchObject({ code: 0, text: expect.stringContaining('hello') });
    const people = adminClient(PersonService, gateway);
    const [dana] = (await people.listPeople({ search: 'dana' })).people;
    await people.setPersonDisabled({ personId: dana?.personId ?? '', disabled: true });
    expect(await ask()).toMatchObject({ code: 1, text: expect.stringMatching(/401|Unauthorized/) });
  });
});

function configOf(baseUrl: string, home: string): string {
  const words = (texts: readonly string[]) => `[${texts.map((text) => JSON.stringify(text)).join(', ')}]`;
  const env = [`HOME=${home}`, `GATEWAY_URL=${baseUrl}`];
  return `
model = "gpt-5.5"
model_provider = "gateway"

[model_providers.gateway]
name = "Gateway"
base_url = "${baseUrl}/v1"
wire_api = "responses"

[model_providers.gateway.auth]
command = "/usr/bin/env"
args = ${words([...env, process.execPath, programOf('gatewayctl'), 'token', 'print'])}
`;
}
