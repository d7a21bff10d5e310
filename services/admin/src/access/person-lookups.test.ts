import { Secret } from '@gateway/config';
import { parseEncryptionKeys } from '@gateway/config/encryption';
import { openTestSqlite } from '@gateway/database/testing';
import { createLogger } from '@gateway/telemetry';
import { roomMs } from '@gateway/testkit/room';
import { ManualTime } from '@gateway/time/simulated';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Browser } from '../__fixtures__/browser.ts';
import type { ProviderChanges } from '../__fixtures__/sign-in-provider.ts';
import { aSignInWorld, passProvider, signIn } from '../__fixtures__/sign-in-world.ts';
import { PersonGrants } from './person-grants.ts';
import { PersonLookups, type PersonLookupsParts } from './person-lookups.ts';

const userCode = 'KDRT-PQXW';
const minuteMs = 60_000;
const settings = {
  OIDC_SCOPES: 'openid profile groups email offline_access',
  OIDC_PEOPLE_GROUPS: 'staff,developers=team-a',
  OIDC_LOOKUP_SECONDS: '1',
  PERSON_KEYS: `k1:${'a'.repeat(64)}`,
};

/** Dana of the developers has signed in from a client. */
async function aWorld(env: Readonly<Record<string, string>> = {}, changes: ProviderChanges = {}) {
  const world = await aSignInWorld(changes, { ...settings, ...env });
  world.provider.groups.set('dana', ['developers']);
  world.provider.claims.set('dana', { email: 'dana@acme.test', email_verified: true });
  const signInAgain = async () => {
    world.grants.set(userCode, { surface: 'claude_code', createdAtMs: world.time.nowMs });
    const browser = new Browser();
    const first = await browser.open(`${world.publicUrl}/device`, { form: { user_code: userCode } });
    await passProvider(browser, first, world, 'dana');
  };
  await signInAgain();
  const stored = () => world.database.selectFrom('person_grants').selectAll().execute();
  /** Lets time pass until the provider has been asked, or the person is no longer looked up. */
  const lookedUp = async () => {
    const before = world.provider.refreshes();
    world.time.advanceMs(1_000);
    await expect.poll(async () => world.provider.refreshes() > before || (await stored()).length === 0).toBe(true);
  };
  const isSignedIn = async (signedIn: Browser) => {
    const headers = { cookie: signedIn.header(world.publicUrl) };
    return (await world.call('SessionService.GetSession', {}, headers)).status === 200;
  };
  return { ...world, stored, lookedUp, isSignedIn, signInAgain };
}

describe('a person who has signed in from a client', () => {
  it('has a refresh token of the provider, encrypted, for which operators of the console are not asked', async () => {
    const world = await aWorld();
    expect(await world.stored()).toMatchObject([
      { person_id: 'dana', key_id: 'k1', refresh_token: expect.stringMatching(/^v1\./) },
    ]);
    const scopeOf = async (path: string, options: { readonly form?: Readonly<Record<string, string>> } = {}) => {
      world.grants.set(userCode, { surface: 'claude_code' });
      const isAtProvider = (url: URL) => url.origin === world.provider.issuer;
      const { url } = await new Browser().open(`${world.publicUrl}${path}`, { ...options, until: isAtProvider });
      return [url.searchParams.get('scope'), url.searchParams.get('prompt')];
    };
    const ofClient = ['openid profile groups email offline_access', 'consent'];
    expect(await scopeOf('/device', { form: { user_code: userCode } })).toEqual(ofClient);
    expect(await scopeOf('/oidc/sign-in')).toEqual(['openid profile groups email', null]);
  });

  it('is in the audit log also when what the provider gave cannot be stored', async () => {
    const world = await aWorld();
    const approvals = async () => (await world.audited()).filter(({ action }) => action === 'sign_in.approve').length;
    expect(await approvals()).toBe(1);
    await world.database.schema.dropTable('person_grants').execute();
    world.grants.set(userCode, { surface: 'claude_code', createdAtMs: world.time.nowMs });
    const browser = new Browser();
    const page = await browser.open(`${world.publicUrl}/device`, { form: { user_code: userCode } });
    await passProvider(browser, page, world, 'dana');
    expect(await approvals()).toBe(2);
  });

  it('is looked up with each new refresh token of the provider, and stays signed in', async () => {
    const world = await aWorld({}, { isPublic: true });
    for (let round = 0; round < 3; round++) {
      const before = await world.stored();
      await world.lookedUp();
      // The next lookup is due once this one has ended, which is later than its new token.
      await expect.poll(world.stored).toMatchObject([{ due_at_ms: world.time.nowMs + 1_000 }]);
      expect(await world.stored()).not.toMatchObject([{ refresh_token: before[0]?.refresh_token }]);
    }
    expect(world.ended).toEqual([]);
  });

  it.each([
    ['the ID token', { conformIdTokenClaims: false }],
    ['the answer about the user', {}],
  ])('moves to the group of tokens of another group, which is in %s', async (_, changes) => {
    const world = await aWorld({}, changes);
    expect(world.known.get('dana')).toMatchObject({ groupId: 'group-1' });
    world.provider.groups.set('dana', ['staff']);
    await world.lookedUp();
    await expect.poll(() => world.known.get('dana')).toMatchObject({ groupId: '', email: 'dana@acme.test' });
    expect(world.ended).toEqual([]);
  });

  it.each([
    ['none of the groups that may sign in', 'no group that may sign in', { groups: ['cooks'] }],
    ['an address that is no longer verified', 'the e-mail address is not verified', { email_verified: false }],
  ])('loses sessions, tokens and the console with %s', async (_, reason, claims) => {
    const world = await aWorld();
    const browser = new Browser();
    await signIn(browser, world, 'dana');
    expect(await world.isSignedIn(browser)).toBe(true);
    world.provider.claims.set('dana', { email: 'dana@acme.test', ...claims });
    await world.lookedUp();
    await expect.poll(() => world.ended).toEqual([{ personId: 'dana', withTokens: true, suspendTokens: false }]);
    await expect.poll(world.stored).toEqual([]);
    expect(await world.isSignedIn(browser)).toBe(false);
    expect(await world.audited()).toContainEqual({
      ...{ actor: '', address: '', action: 'person.lookup', subject: 'dana@acme.test', outcome: 'refused' },
      after: { reason, sessions: 1, withTokens: true },
    });
  });

  it('loses sessions, the console, and tokens until the next sign-in when the provider has removed the person', async () => {
    const world = await aWorld();
    const browser = new Browser();
    await signIn(browser, world, 'dana');
    world.provider.removed.add('dana');
    world.time.advanceMs(1_000);
    await expect.poll(() => world.ended).toEqual([{ personId: 'dana', withTokens: false, suspendTokens: true }]);
    await expect.poll(world.stored).toEqual([]);
    expect(await world.isSignedIn(browser)).toBe(false);
    expect(await world.audited()).toContainEqual(
      expect.objectContaining({ action: 'person.lookup', after: expect.objectContaining({ sessions: 1 }) }),
    );
  });

  it('stays signed in while the provider is away, and is looked up when it is back', async () => {
    const world = await aWorld();
    world.provider.isAway = true;
    world.time.advanceMs(1_000);
    const failed = async () =>
      (await world.metrics.exposition()).includes('gateway_person_lookups_total{result="failed"} 1');
    await expect.poll(failed).toBe(true);
    expect(world.ended).toEqual([]);
    expect(await world.stored()).toHaveLength(1);
    world.provider.isAway = false;
    world.provider.groups.set('dana', ['cooks']);
    await world.lookedUp();
    await expect.poll(() => world.ended).toHaveLength(1);
  });

  it('has the role of the present groups as an operator', async () => {
    const world = await aWorld();
    world.provider.groups.set('dana', ['developers', 'sre']);
    const browser = new Browser();
    await signIn(browser, world, 'dana');
    expect(await world.operators.list()).toMatchObject([{ role: 'operator' }]);
    world.provider.groups.set('dana', ['developers', 'everyone']);
    await world.lookedUp();
    await expect.poll(() => world.operators.list()).toMatchObject([{ role: 'viewer' }]);
    expect(await world.isSignedIn(browser)).toBe(false);
    await signIn(browser, world, 'dana');
    world.provider.groups.set('dana', ['developers']);
    await world.lookedUp();
    await expect.poll(() => world.isSignedIn(browser)).toBe(false);
    expect(world.ended).toEqual([]);
  });

  it('keeps everything while the group of tokens does not exist, and moves when it exists again', async () => {
    const world = await aWorld();
    world.groupNames.set('group-1', 'team-b');
    world.provider.claims.set('dana', { email: 'dana@another.test', email_verified: true });
    await world.lookedUp();
    await expect.poll(async () => (await world.metrics.exposition()).includes('{result="failed"} 1')).toBe(true);
    expect(world.known.get('dana')).toMatchObject({ groupId: 'group-1', email: 'dana@acme.test' });
    world.groupNames.set('group-2', 'team-a');
    await world.lookedUp();
    await expect.poll(() => world.known.get('dana')).toMatchObject({ groupId: 'group-2', email: 'dana@another.test' });
    expect(world.ended).toEqual([]);
  });

  it('is looked up without a session of a client as long as a token is valid, or the console is open', async () => {
    const world = await aWorld();
    const withTokens = (issuedTokens: number) =>
      world.known.set('dana', { ...world.known.get('dana'), sessions: [], issuedTokens });
    withTokens(1);
    world.time.advanceMs(15 * minuteMs);
    await world.lookedUp();
    const browser = new Browser();
    await signIn(browser, world, 'dana');
    withTokens(0);
    world.time.advanceMs(15 * minuteMs);
    await world.lookedUp();
    await expect.poll(world.stored).toMatchObject([{ due_at_ms: world.time.nowMs + 1_000 }]);
    await world.database.deleteFrom('operator_sessions').execute();
    world.time.advanceMs(1_000);
    await expect.poll(world.stored).toEqual([]);
  });

  it.each([
    [
      'no session',
      15 * minuteMs,
      (world: Awaited<ReturnType<typeof aWorld>>) => world.known.set('dana', { personId: 'dana', sessions: [] }),
    ],
    ['been disabled', 1_000, (world: Awaited<ReturnType<typeof aWorld>>) => world.disabledPeople.add('dana')],
  ])('is no longer looked up when the person has %s', async (_, afterMs, change) => {
    const world = await aWorld();
    change(world);
    world.time.advanceMs(afterMs);
    await expect.poll(world.stored).toEqual([]);
    expect(world.provider.refreshes()).toBe(0);
  });

  it('is not looked up without offline_access', async () => {
    const world = await aWorld({ OIDC_SCOPES: 'openid profile groups email' });
    expect(world.decisions).toHaveLength(1);
    expect(await world.stored()).toEqual([]);
  });
});

describe('a person who has signed in to the console only', () => {
  it('is asked for consent once, and is looked up', async () => {
    const world = await aWorld();
    world.provider.groups.set('erin', ['staff']);
    const browser = new Browser();
    await signIn(browser, world, 'erin');
    expect((await world.stored()).map(({ person_id }) => person_id).toSorted()).toEqual(['dana', 'erin']);
    expect(await world.isSignedIn(browser)).toBe(true);
    const { url } = await browser.open(`${world.publicUrl}/oidc/sign-in`);
    expect(url.href).toBe(`${world.publicUrl}/`);
    world.provider.removed.add('erin');
    world.time.advanceMs(1_000);
    await expect.poll(() => world.ended.map(({ personId }) => personId)).toEqual(['erin']);
    expect(await world.isSignedIn(browser)).toBe(false);
  });
});

describe('a person for whom the provider gives no refresh token', () => {
  it.each([
    ['because it gives none to anyone', { issueRefreshToken: () => false }, {}],
    ['because it is not asked for consent', {}, { OIDC_CONSENT: 'false' }],
  ])('can issue tokens for a limited time, and operators are told, %s', async (_, changes, env) => {
    const world = await aWorld(env, changes);
    expect(world.decisions).toMatchObject([{ person: { subject: 'dana', notLookedUp: true } }]);
    expect(await world.stored()).toMatchObject([{ person_id: 'dana', refresh_token: '' }]);
    expect(await world.audited()).toContainEqual({
      ...{ actor: '', address: '', action: 'person.lookup', subject: 'dana@acme.test', outcome: 'failed' },
      after: { reason: 'the provider gave no refresh token' },
    });
    world.time.advanceMs(1_000);
    await expect.poll(async () => (await world.stored())[0]?.due_at_ms).toBe(world.time.nowMs + 1_000);
    expect([world.ended, world.provider.refreshes()]).toEqual([[], 0]);
  });
});

describe('a provider that replaces each refresh token, and whose answer', () => {
  it('comes late loses no one', async () => {
    const world = await aWorld({}, { isPublic: true });
    world.provider.delayMs = 5_500;
    for (let round = 0; round < 2; round++) {
      const [before] = await world.stored();
      world.time.advanceMs(1_000);
      await expect
        .poll(world.stored, { timeout: roomMs(15_000) })
        .not.toMatchObject([{ refresh_token: before?.refresh_token }]);
      // The lookup has ended, and the next one is a second away.
      await expect
        .poll(world.stored, { timeout: roomMs(15_000) })
        .toMatchObject([{ due_at_ms: world.time.nowMs + 1_000 }]);
    }
    expect(await world.stored()).toMatchObject([{ person_id: 'dana', asked_at_ms: null }]);
    expect(world.ended).toEqual([]);
  });

  it('is lost ends nothing: the person can only not be looked up any more', async () => {
    const world = await aWorld({}, { isPublic: true });
    world.provider.losesAnswers = true;
    world.time.advanceMs(1_000);
    await expect
      .poll(world.stored)
      .toMatchObject([{ asked_at_ms: expect.any(Number), due_at_ms: world.time.nowMs + 1_000 }]);
    world.provider.losesAnswers = false;
    world.time.advanceMs(1_000);
    await expect.poll(world.stored).toMatchObject([{ refresh_token: '', asked_at_ms: null }]);
    expect(world.ended).toEqual([]);
    expect(world.known.get('dana')).toMatchObject({ groupId: 'group-1', tokensUntilMs: expect.anything() });
    expect(await world.audited()).toContainEqual(
      expect.objectContaining({ action: 'person.lookup', outcome: 'failed' }),
    );
    // The next sign-in gives another grant.
    await world.signInAgain();
    await world.lookedUp();
    await expect.poll(() => world.known.get('dana')).not.toHaveProperty('tokensUntilMs');
    expect(world.ended).toEqual([]);
  });

  it('is a clear refusal ends the sessions, also after a failure that never reached the provider', async () => {
    const world = await aWorld({}, { isPublic: true });
    const { server } = world.provider;
    const { port } = server.address() as { readonly port: number };
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    world.time.advanceMs(1_000);
    await expect.poll(async () => (await world.metrics.exposition()).includes('{result="failed"} 1')).toBe(true);
    await expect.poll(world.stored).toMatchObject([{ asked_at_ms: null }]);
    server.listen(port, '127.0.0.1');
    world.provider.removed.add('dana');
    world.time.advanceMs(1_000);
    await expect.poll(() => world.ended).toMatchObject([{ personId: 'dana', suspendTokens: true }]);
  });

  it('is awaited by one of several replicas, however short the time between lookups is', async () => {
    const { database, ...opened } = await openTestSqlite();
    onTestFinished(() => opened[Symbol.asyncDispose]());
    using time = new ManualTime(1_000_000);
    const grants = new PersonGrants(database, parseEncryptionKeys(settings.PERSON_KEYS) ?? []);
    await grants.keep('dana', new Secret('first'), time.nowMs, time.nowMs);
    const asked: string[] = [];
    const answers = [Promise.withResolvers<object>(), Promise.withResolvers<object>()];
    const parts = {
      ...{ grants, database, intervalMs: 1_000, rules: {}, operators: {}, sessions: {} },
      provider: {
        renew: async (token: Secret) => await answers[asked.push(token.reveal()) - 1]?.promise,
      },
      people: { getPerson: async () => ({ person: { personId: 'dana', sessions: [{}] } }) },
      ...{ logger: createLogger('admin', 'silent'), counter: { inc: () => {} } },
      // Nothing else is used: the provider says nothing about the person.
    } as unknown as PersonLookupsParts;
    const replicas = [new PersonLookups(parts), new PersonLookups(parts)];
    const { signal } = new AbortController();
    const round = () => Promise.all(replicas.map((replica) => replica.round(signal)));
    const rounds = [round()];
    await expect.poll(() => asked).toEqual(['first']);
    for (let n = 0; n < 5; n++) {
      time.advanceMs(5_000);
      rounds.push(round());
    }
    answers[0]?.resolve({ refreshToken: new Secret('second'), identityOf: async () => undefined });
    await Promise.all(rounds);
    expect(asked).toEqual(['first']);
    time.advanceMs(1_000);
    answers[1]?.resolve({ refreshToken: undefined, identityOf: async () => undefined });
    await round();
    expect(asked).toEqual(['first', 'second']);
  });
});
