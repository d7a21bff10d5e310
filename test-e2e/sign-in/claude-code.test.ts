import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GroupService } from '@gateway/proto/admin/v1/group_service_pb.js';
import { roomMs } from '@gateway/testkit/room';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { adminClient } from '../client/operator.ts';
import { confirmCode, disablePerson, endSessionsOf, refresh, signInPerson } from '../client/person.ts';
import { issueToken } from '../client/tokens.ts';
import { managedGroup } from '../topologies/gateway-file.ts';
import type { SignInTopology } from '../topologies/with-sign-in.ts';
import { clientPackages, clientPrograms, runClient, timed } from './client-programs.ts';
import { describeClient } from './describe-client.ts';
import { openRecordedAddress } from './recorded-address.ts';
import { ClaudeHome } from './signed-in-home.ts';
import { keys, Terminal } from './terminal.ts';

let claude = '';
let parent = '';
beforeAll(async () => {
  claude = join(await clientPrograms(), 'claude');
  parent = await mkdtemp(join(tmpdir(), 'claude-'));
}, roomMs(900_000));
afterAll(() => rm(parent, { recursive: true, force: true }));

/** Asks one question, and returns the exit code and what is printed. */
const ask = ({ folder, env }: ClaudeHome, model = ['--model', 'claude-sonnet-5']) =>
  runClient(claude, ['--print', ...model, 'Say hello'], { cwd: folder, env });
const anHourAhead = () => Date.now() + 3_600_000;
const aMomentAgo = () => Date.now() - 1_000;

/** A home with the session of a person who has just signed in. */
async function signedInHome(gateway: SignInTopology, name: string, expiresAtMs: number, baseUrl = gateway.baseUrl) {
  const home = await ClaudeHome.make(parent, baseUrl);
  const tokens = await signInPerson(baseUrl, gateway.provider, name);
  await home.store(tokens, expiresAtMs);
  return { home, tokens };
}

/** The real client, unchanged. */
describeClient(
  clientPackages.claude,
  (gateway) => {
    it('signs a person in with /login, answers, and signs out again', async () => {
      const home = await ClaudeHome.make(parent, gateway().baseUrl);
      await using terminal = new Terminal(claude, { cwd: home.folder, env: home.env });
      await timed('Claude Code, from its start to the first answer after /login', async () => {
        await terminal.shows(/run \/login/);
        await terminal.types('/login', keys.enter);
        await terminal.shows(/Enter to connect/);
        await terminal.types(keys.enter);
        await terminal.shows(/No, cancel login/);
        await terminal.types(keys.up, keys.enter);
        const [, userCode = ''] = await terminal.shows(/Code: ([A-Z]{4}-[A-Z]{4})/);
        const page = await confirmCode(`${gateway().adminUrl}/device`, userCode, gateway().provider, 'dana');
        expect(page.text).toContain('You are signed in');
        await terminal.shows(/dana@acme\.test.*No, cancel login/);
        await terminal.types(keys.up, keys.enter);
        await terminal.shows(/Press Enter to continue/);
        await terminal.types(keys.enter);
        await terminal.shows(/Login successful/);
        expect(await ask(home)).toMatchObject({ code: 0, text: expect.stringContaining('hello') });
      });
      const { idpRefreshToken = '' } = (await home.session()) ?? {};
      await terminal.types('/logout', keys.enter);
      await expect.poll(async () => (await refresh(gateway().baseUrl, idpRefreshToken)).status).toBe(400);
    });

    it('refreshes a token that has expired, at its start, and stores the new one', async () => {
      const { home, tokens } = await signedInHome(gateway(), 'dana', aMomentAgo());
      const first = await timed('Claude Code, a start with a refresh', () => ask(home));
      expect(first).toMatchObject({ code: 0, text: expect.stringContaining('hello') });
      expect((await home.session())?.idpRefreshToken).not.toBe(tokens.refresh_token);
      expect((await timed('Claude Code, a start without a refresh', () => ask(home))).code).toBe(0);
    });

    it('refreshes in three processes at once, and all of them go on', async () => {
      const { home } = await signedInHome(gateway(), 'dana', aMomentAgo());
      const racing = await timed('Claude Code, three starts at once with a refresh', () =>
        Promise.all([ask(home), ask(home), ask(home)]),
      );
      expect(racing.map(({ code }) => code)).toEqual([0, 0, 0]);
      expect((await ask(home)).code).toBe(0);
    });

    it('says that the session has expired when an operator has ended it, and forgets it', async () => {
      const { home } = await signedInHome(gateway(), 'hugo', aMomentAgo());
      await endSessionsOf(gateway(), 'hugo');
      expect(await ask(home)).toMatchObject({ code: 1, text: expect.stringContaining('sign in again with /login') });
      expect((await home.session())?.idpRefreshToken).toBeUndefined();
    });

    it('says that the token is not valid when the person is disabled', async () => {
      const { home } = await signedInHome(gateway(), 'erin', anHourAhead());
      expect((await ask(home)).code).toBe(0);
      await disablePerson(gateway(), 'erin');
      expect(await ask(home)).toMatchObject({ code: 1, text: expect.stringMatching(/401|login/i) });
    });

    it('shows that the day of a token is spent', async () => {
      const { text: token } = await issueToken(gateway(), { tokensPerDay: 0 });
      const cwd = await mkdtemp(join(parent, 'token-'));
      const address = { ANTHROPIC_BASE_URL: gateway().baseUrl, ANTHROPIC_AUTH_TOKEN: token };
      const env = { HOME: cwd, PATH: process.env.PATH ?? '', DISABLE_AUTOUPDATER: '1', ...address };
      const { text } = await runClient(claude, ['--print', '--model', 'claude-sonnet-5', 'hi'], { cwd, env });
      expect(text.trim()).toBe('API Error: Request rejected (429) · The token exceeded its limit of tokens per day.');
    });

    it('uses the default model of its managed settings, offers no other, and keeps them', async () => {
      await adminClient(GroupService, gateway()).createGroup({ name: managedGroup });
      await using address = await openRecordedAddress(gateway().baseUrl);
      const { home } = await signedInHome(gateway(), 'mia', anHourAhead(), address.url);
      const settingsAnswers = () =>
        address.takeAnswers().flatMap(({ request, status }) => (request === 'GET /managed/settings' ? [status] : []));
      expect(await ask(home, [])).toMatchObject({ code: 0, text: expect.stringContaining('hello') });
      expect(settingsAnswers()).toEqual([200]);
      expect((await ask(home, [])).code).toBe(0);
      expect(settingsAnswers()).toEqual([304]);
      const other = await ask(home, ['--model', 'claude-haiku-4-5']);
      expect(other.text).toContain(`restricted by your organization's settings. Using claude-sonnet-5 instead.`);
    });
  },
  (gateway) => {
    it('starts and answers while identity is away, which also serves managed settings', async () => {
      const { home } = await signedInHome(gateway(), 'finn', anHourAhead());
      expect((await ask(home)).code).toBe(0);
      const { identity } = gateway().services;
      await identity.kill();
      try {
        expect(await ask(home)).toMatchObject({ code: 0, text: expect.stringContaining('hello') });
      } finally {
        await identity.restart();
      }
    });
  },
);
