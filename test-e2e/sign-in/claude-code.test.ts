import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type SignInProvider, startSignInProvider } from '@gateway/admin/__fixtures__/sign-in-provider';
import { PersonService } from '@gateway/proto/admin/v1/person_service_pb.js';
import { freePorts } from '@gateway/testkit';
import { roomMs } from '@gateway/testkit/room';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { adminClient } from '../client/operator.ts';
import { confirmCode, refresh, signInPerson, signInSettings } from '../client/person.ts';
import { issueToken } from '../client/tokens.ts';
import { type AllInOneTopology, startAllInOne } from '../topologies/all-in-one.ts';
import { clientPackages, clientPrograms } from './client-programs.ts';
import { ClaudeHome } from './signed-in-home.ts';
import { keys, Terminal } from './terminal.ts';

const run = promisify(execFile);

/**
 * The real client, unchanged, against the gateway of `npm start` and a real provider of OpenID
 * Connect.
 */
describe(`${clientPackages.claude}`, () => {
  const stack = new AsyncDisposableStack();
  let provider: SignInProvider;
  let gateway: AllInOneTopology;
  let claude = '';
  let parent = '';
  beforeAll(async () => {
    claude = join(await clientPrograms(), 'claude');
    parent = await mkdtemp(join(tmpdir(), 'claude-'));
    stack.defer(() => rm(parent, { recursive: true, force: true }));
    const [adminPort] = await freePorts(1);
    const consoleUrl = `http://127.0.0.1:${adminPort}`;
    provider = stack.use(await startSignInProvider(`${consoleUrl}/oidc/callback`));
    const settings = { ADMIN_PORT: String(adminPort), ...signInSettings(provider, consoleUrl) };
    gateway = stack.use(await startAllInOne('claude-code', settings));
    for (const name of ['dana', 'erin']) {
      provider.claims.set(name, { email: `${name}@acme.test`, email_verified: true });
    }
  }, roomMs(900_000));
  afterAll(() => stack.disposeAsync());

  const signIn = (name: string) => signInPerson(gateway.baseUrl, provider, name);
  /** Asks one question, and returns the exit code and what is printed. */
  const ask = async (home: ClaudeHome) => {
    const options = { cwd: home.folder, env: home.env, timeout: roomMs(60_000) };
    const asking = run(claude, ['--print', '--model', 'claude-sonnet-5', 'Say hello'], options);
    asking.child.stdin?.end();
    const { code = 0, stdout, stderr } = await asking.catch((failed) => failed);
    return { code, text: `${stdout}${stderr}` };
  };
  const anHourAhead = () => Date.now() + 3_600_000;
  const aMomentAgo = () => Date.now() - 1_000;

  it('signs a person in with /login, answers, and signs out again', async () => {
    const home = await ClaudeHome.make(parent, gateway.baseUrl);
    await using terminal = new Terminal(claude, { cwd: home.folder, env: home.env });
    await terminal.shows(/run \/login/);
    await terminal.types('/login', keys.enter);
    await terminal.shows(/Enter to connect/);
    await terminal.types(keys.enter);
    await terminal.shows(/No, cancel login/);
    await terminal.types(keys.up, keys.enter);
    const [, userCode = ''] = await terminal.shows(/Code: ([A-Z]{4}-[A-Z]{4})/);
    const page = await confirmCode(`${gateway.adminUrl}/device`, userCode, provider, 'dana');
    expect(page.text).toContain('You are signed in');
    await terminal.shows(/dana@acme\.test.*No, cancel login/);
    await terminal.types(keys.up, keys.enter);
    await terminal.shows(/Press Enter to continue/);
    await terminal.types(keys.enter);
    await terminal.shows(/Login successful/);
    const { idpRefreshToken = '' } = (await home.session()) ?? {};
    expect((await ask(home)).code).toBe(0);
    await terminal.types('/logout', keys.enter);
    await expect.poll(async () => (await refresh(gateway.baseUrl, idpRefreshToken)).status).toBe(400);
  });

  it('refreshes a token that has expired, at its start, and stores the new one', async () => {
    const home = await ClaudeHome.make(parent, gateway.baseUrl);
    const tokens = await signIn('dana');
    await home.store(tokens, aMomentAgo());
    expect(await ask(home)).toMatchObject({ code: 0, text: expect.stringContaining('hello') });
    expect((await home.session())?.idpRefreshToken).not.toBe(tokens.refresh_token);
    expect((await ask(home)).code).toBe(0);
  });

  it('refreshes in three processes at once, and all of them go on', async () => {
    const home = await ClaudeHome.make(parent, gateway.baseUrl);
    await home.store(await signIn('dana'), aMomentAgo());
    const codes = (await Promise.all([ask(home), ask(home), ask(home)])).map(({ code }) => code);
    expect(codes).toEqual([0, 0, 0]);
    expect((await ask(home)).code).toBe(0);
  });

  it('shows that the day of a token is spent', async () => {
    const { text: token } = await issueToken(gateway, { tokensPerDay: 0 });
    const home = await mkdtemp(join(parent, 'token-'));
    const address = { ANTHROPIC_BASE_URL: gateway.baseUrl, ANTHROPIC_AUTH_TOKEN: token };
    const env = { HOME: home, PATH: process.env.PATH ?? '', DISABLE_AUTOUPDATER: '1', ...address };
    const asking = run(claude, ['--print', '--model', 'claude-sonnet-5', 'hi'], {
      ...{ cwd: home, env, timeout: roomMs(60_000) },
    });
    asking.child.stdin?.end();
    const { stdout, stderr } = await asking.catch((failed) => failed);
    expect(`${stdout}${stderr}`.trim()).toBe(
      'API Error: Request rejected (429) · The token exceeded its limit of tokens per day.',
    );
  });

  it('says that the session has expired when the person was disabled', async () => {
    const home = await ClaudeHome.make(parent, gateway.baseUrl);
    await home.store(await signIn('erin'), anHourAhead());
    expect((await ask(home)).code).toBe(0);
    const people = adminClient(PersonService, gateway);
    const [erin] = (await people.listPeople({ search: 'erin' })).people;
    await people.setPersonDisabled({ personId: erin?.personId ?? '', disabled: true });
    const refused = await ask(home);
    expect(refused).toMatchObject({ code: 1, text: expect.stringMatching(/401|login/i) });
  });
});
