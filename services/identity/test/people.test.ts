import { testDatabases } from '@gateway/database/testing';
import { IdentityService, TokenKind } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { GrantProblem, PersonService, SignInService } from '@gateway/proto/identity/v1/person_service_pb.js';
import { directClientOf } from '@gateway/rpc';
import { createLogger, Metrics } from '@gateway/telemetry';
import { roomMs } from '@gateway/testkit/room';
import { ManualTime } from '@gateway/time/simulated';
import { parseTokenText, tokenSha256 } from '@gateway/tokens';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type HashKey, hashKeyOf } from '../src/hashing/hash-key.ts';
import { createIdentityService } from '../src/service.ts';

const startMs = Date.parse('2026-11-20T10:00:00.000Z');
const [key, newKey] = [hashKeyOf(Buffer.alloc(32, 1)), hashKeyOf(Buffer.alloc(32, 2))];
const dana = { issuer: 'https://login.example', subject: 'dana', email: 'dana@acme.test', name: 'Dana', groupId: '' };
const from = { surface: 'claude_code', client: 'claude-code/2.1.332', address: '10.0.0.7' };
const personTokens = { mayIssue: true, maxDays: 30 };
const minuteMs = 60_000;
const dayMs = 86_400_000;

describe.each(testDatabases)('sign-in of people over $name', ({ open }) => {
  it('gives a client tokens once a person has approved its code', async () => {
    await using world = await openWorld(open);
    const grant = await world.signIn.beginDeviceGrant(from);
    expect(grant.userCode).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/);
    expect(await world.problemOf(grant.deviceCode)).toBe(GrantProblem.AUTHORIZATION_PENDING);
    const typed = grant.userCode.toLowerCase().replace('-', ' ');
    expect((await world.people.findDeviceGrant({ userCode: typed })).grant).toMatchObject(from);
    await world.people.decideDeviceGrant({ userCode: typed, person: dana });
    world.time.advanceMs(5_000);
    const tokens = await world.tokensOf(grant.deviceCode);
    expect(tokens).toMatchObject({ expiresInSeconds: 3_600, email: 'dana@acme.test' });
    expect(parseTokenText(tokens.accessToken)).toEqual({ kind: 'personal' });
    const token = await world.resolve(tokens.accessToken);
    expect(token).toMatchObject({ kind: TokenKind.PERSONAL, label: 'dana@acme.test (claude_code)' });
    expect(token?.expiresAtMs).toBe(world.time.nowMs + 60 * minuteMs);
  });

  it('gives tokens for a device code only once', async () => {
    await using world = await openWorld(open);
    const grant = await world.approved();
    const answers = await Promise.all(
      [1, 2, 3].map(() => world.signIn.redeemDeviceCode({ deviceCode: grant.deviceCode })),
    );
    expect(answers.map(({ result }) => result.case).toSorted()).toEqual(['problem', 'problem', 'tokens']);
    expect(await world.problemOf(grant.deviceCode)).toBe(GrantProblem.EXPIRED_TOKEN);
    expect((await world.people.listPeople({})).people).toMatchObject([{ sessions: [{}] }]);
  });

  it('tells a client that polls too often to slow down', async () => {
    await using world = await openWorld(open);
    const grant = await world.signIn.beginDeviceGrant(from);
    const problems: unknown[] = [];
    for (const pauseMs of [0, 5_000, 4_000, 1_000, 5_000]) {
      world.time.advanceMs(pauseMs);
      problems.push(await world.problemOf(grant.deviceCode));
    }
    const { AUTHORIZATION_PENDING: pending, SLOW_DOWN: slow } = GrantProblem;
    expect(problems).toEqual([pending, pending, pending, slow, pending]);
  });

  it('refuses codes that were denied, have expired or never existed', async () => {
    await using world = await openWorld(open);
    const denied = await world.signIn.beginDeviceGrant(from);
    await world.people.decideDeviceGrant({ userCode: denied.userCode });
    expect(await world.problemOf(denied.deviceCode)).toBe(GrantProblem.ACCESS_DENIED);
    // A decision is final.
    expect(await world.people.decideDeviceGrant({ userCode: denied.userCode, person: dana })).not.toHaveProperty(
      'grant.surface',
    );
    const late = await world.signIn.beginDeviceGrant(from);
    world.time.advanceMs(600_000);
    expect((await world.people.decideDeviceGrant({ userCode: late.userCode, person: dana })).grant).toBeUndefined();
    expect(await world.problemOf(late.deviceCode)).toBe(GrantProblem.EXPIRED_TOKEN);
    expect(await world.problemOf('unknown')).toBe(GrantProblem.EXPIRED_TOKEN);
  });

  it('rotates tokens at a refresh: the token keeps its id, and the old text its time', async () => {
    await using world = await openWorld(open);
    const first = await world.signedIn();
    world.time.advanceMs(56 * minuteMs);
    const second = await world.refreshed(first.refreshToken);
    expect(second).toMatchObject({ expiresInSeconds: 3_600 });
    expect(second.refreshToken).not.toBe(first.refreshToken);
    const [before, after] = [await world.resolve(first.accessToken), await world.resolve(second.accessToken)];
    expect(after?.tokenId).toBe(before?.tokenId);
    world.time.advanceMs(4 * minuteMs);
    expect(await world.resolve(first.accessToken)).toBeUndefined();
    expect(await world.resolve(second.accessToken)).toBeDefined();
  });

  it('gives clients that refresh at the same time the same tokens', async () => {
    await using world = await openWorld(open);
    const { refreshToken } = await world.signedIn();
    const racing = await Promise.all([1, 2, 3, 4].map(() => world.refreshed(refreshToken)));
    expect(new Set(racing.map((tokens) => tokens.refreshToken)).size).toBe(1);
    expect(new Set(racing.map((tokens) => tokens.accessToken)).size).toBe(1);
    world.time.advanceMs(59_999);
    const late = await world.refreshed(refreshToken);
    expect(late).toMatchObject({ accessToken: racing[0]?.accessToken, expiresInSeconds: 3_540 });
  });

  it('ends the session when an old refresh token is used after the grace', async () => {
    await using world = await openWorld(open);
    const first = await world.signedIn();
    const second = await world.refreshed(first.refreshToken);
    world.time.advanceMs(60_000);
    expect(await world.refresh(first.refreshToken)).toBeUndefined();
    expect(await world.resolve(second.accessToken)).toBeUndefined();
    expect(await world.refresh(second.refreshToken)).toBeUndefined();
  });

  it('ends the session at once when an even older one is used', async () => {
    await using world = await openWorld(open);
    const first = await world.signedIn();
    const second = await world.refreshed(first.refreshToken);
    await world.refreshed(second.refreshToken);
    expect(await world.refresh(first.refreshToken)).toBeUndefined();
    expect((await world.people.listPeople({})).people).toMatchObject([{ sessions: [] }]);
  });

  it.each([
    ['14 days without a refresh', [14 * dayMs]],
    ['30 days in any case', [13 * dayMs, 13 * dayMs, 4 * dayMs]],
  ])('ends a session after %s', async (_, pausesMs) => {
    await using world = await openWorld(open);
    let { refreshToken } = await world.signedIn();
    for (const pauseMs of pausesMs.slice(0, -1)) {
      world.time.advanceMs(pauseMs);
      ({ refreshToken } = await world.refreshed(refreshToken));
    }
    world.time.advanceMs(pausesMs.at(-1) ?? 0);
    expect(await world.refresh(refreshToken)).toBeUndefined();
  });

  it.each(['', 'gw_r_', `gw_r_${'A'.repeat(59)}`, `gw_p_${'A'.repeat(36)}`])(
    'refuses %j as a refresh token',
    async (text) => {
      await using world = await openWorld(open);
      await world.signedIn();
      expect(await world.refresh(text)).toBeUndefined();
    },
  );

  it('refuses a refresh token with any character changed, and ends nothing', async () => {
    await using world = await openWorld(open);
    const { refreshToken } = await world.signedIn();
    for (let place = 'gw_r_'.length; place < refreshToken.length - 1; place++) {
      const other = refreshToken.charAt(place) === 'A' ? 'B' : 'A';
      const changed = refreshToken.slice(0, place) + other + refreshToken.slice(place + 1);
      expect(await world.refresh(changed), changed).toBeUndefined();
    }
    expect(await world.refresh(refreshToken)).toBeDefined();
  });

  it('ends a session by its refresh token or by its access token', async () => {
    await using world = await openWorld(open);
    for (const kind of ['refreshToken', 'accessToken'] as const) {
      const tokens = await world.signedIn();
      expect((await world.signIn.endSession({ token: tokens[kind] })).session).toMatchObject({
        surface: 'claude_code',
      });
      expect(await world.resolve(tokens.accessToken)).toBeUndefined();
      expect(await world.refresh(tokens.refreshToken)).toBeUndefined();
      expect((await world.signIn.endSession({ token: tokens[kind] })).session).toBeUndefined();
    }
  });

  it('never ends a session by a token that is not of one', async () => {
    await using world = await openWorld(open);
    const { tokenText } = await world.identity.issue({ kind: TokenKind.PERSONAL, label: 'me' });
    expect((await world.signIn.endSession({ token: tokenText })).session).toBeUndefined();
    expect(await world.resolve(tokenText)).toBeDefined();
  });

  it('refuses a disabled person everywhere, until enabled again', async () => {
    await using world = await openWorld(open);
    const tokens = await world.signedIn();
    const [person] = (await world.people.listPeople({ search: 'DANA@' })).people;
    const waiting = await world.approved();
    await world.people.setPersonDisabled({ personId: person?.personId ?? '', disabled: true });
    expect(await world.resolve(tokens.accessToken)).toBeUndefined();
    expect(await world.refresh(tokens.refreshToken)).toBeUndefined();
    expect(await world.problemOf(waiting.deviceCode)).toBe(GrantProblem.ACCESS_DENIED);
    const another = await world.signIn.beginDeviceGrant(from);
    const decided = await world.people.decideDeviceGrant({ userCode: another.userCode, person: dana });
    expect(decided.personIsDisabled).toBe(true);
    expect(await world.problemOf(another.deviceCode)).toBe(GrantProblem.ACCESS_DENIED);
    await world.people.setPersonDisabled({ personId: person?.personId ?? '', disabled: false });
    expect(await world.signedIn()).toBeDefined();
  });

  it('ends one session of a person, or all of them', async () => {
    await using world = await openWorld(open);
    const [first, second, third] = [await world.signedIn(), await world.signedIn(), await world.signedIn()];
    const [person] = (await world.people.listPeople({})).people;
    const { personId = '', sessions = [] } = person ?? {};
    expect(sessions).toHaveLength(3);
    const token = await world.resolve(second.accessToken);
    const ofSecond = sessions.find(({ tokenId }) => tokenId === token?.tokenId);
    await world.people.endSessions({ personId, sessionId: ofSecond?.sessionId ?? '' });
    expect(await world.resolve(second.accessToken)).toBeUndefined();
    expect(await world.resolve(first.accessToken)).toBeDefined();
    expect((await world.people.endSessions({ personId })).sessions).toHaveLength(2);
    expect(await world.resolve(third.accessToken)).toBeUndefined();
  });

  it('ends all sessions, and revokes the tokens that the person has issued only if asked to', async () => {
    await using world = await openWorld(open);
    const tokens = await world.signedIn();
    const [{ personId = '' } = {}] = (await world.people.listPeople({})).people;
    const { tokenText } = await world.people.issuePersonToken({ personId, label: 'cron' });
    const sessionsOf = async () => (await world.people.getPerson({ personId, withSessions: true })).person?.sessions;
    expect((await world.people.getPerson({ personId })).person?.sessions).toEqual([]);
    expect(await sessionsOf()).toMatchObject([{ surface: 'claude_code' }]);
    await world.people.endSessions({ personId });
    expect(await world.resolve(tokens.accessToken)).toBeUndefined();
    expect(await sessionsOf()).toEqual([]);
    expect(await world.resolve(tokenText)).toBeDefined();
    await world.people.endSessions({ personId, withTokens: true });
    expect(await world.resolve(tokenText)).toBeUndefined();
  });

  it('announces every end to those who watch tokens', async () => {
    await using world = await openWorld(open);
    const tokens = await world.signedIn();
    const token = await world.resolve(tokens.accessToken);
    const changes = world.identity
      .watchChanges({}, { signal: AbortSignal.timeout(roomMs(30_000)) })
      [Symbol.asyncIterator]();
    await changes.next();
    await world.signIn.endSession({ token: tokens.refreshToken });
    expect((await changes.next()).value).toMatchObject({ tokenIds: [token?.tokenId] });
    await changes.return?.();
  });

  it('writes each step to the audit log, with the person and the client', async () => {
    await using world = await openWorld(open);
    const tokens = await world.signedIn();
    await world.refreshed((await world.refreshed(tokens.refreshToken)).refreshToken);
    await world.refresh(tokens.refreshToken);
    const { refreshToken } = await world.signedIn();
    await world.signIn.endSession({ token: refreshToken });
    const rows = await world.database.selectFrom('audit_log').selectAll().orderBy('at_ms').execute();
    const steps = rows.map(({ action, outcome }) => `${action} ${outcome}`).toSorted();
    expect(steps).toEqual([
      'person_session.begin done',
      'person_session.begin done',
      'person_session.end done',
      'person_session.replay refused',
    ]);
    for (const { actor, subject } of rows) expect([actor, subject]).toEqual(['dana@acme.test', 'claude_code']);
  });

  it('stores no text of a token or code', async () => {
    await using world = await openWorld(open);
    const grant = await world.approved();
    const tokens = await world.tokensOf(grant.deviceCode);
    const tables = ['people', 'device_grants', 'person_sessions', 'tokens', 'audit_log'] as const;
    const rows = await Promise.all(tables.map((table) => world.database.selectFrom(table).selectAll().execute()));
    const stored = JSON.stringify(rows);
    for (const secret of [grant.deviceCode, grant.userCode, tokens.accessToken, tokens.refreshToken]) {
      expect(stored).not.toContain(secret);
      expect(stored).not.toContain(tokenSha256(secret).toString('hex'));
    }
  });

  it('goes on with sessions after the key of hashes was replaced', async () => {
    await using world = await openWorld(open);
    const { refreshToken } = await world.signedIn();
    const replaced = world.withKeys([newKey, key]);
    const { tokens } = await replaced.signIn.refreshSession({ refreshToken });
    expect(tokens).toBeDefined();
    expect((await replaced.signIn.refreshSession({ refreshToken })).tokens).toEqual(tokens);
    expect((await replaced.signIn.refreshSession({ refreshToken: tokens?.refreshToken ?? '' })).tokens).toBeDefined();
  });

  it('shows what clients send about themselves without characters that deceive', async () => {
    await using world = await openWorld(open);
    const client = `good\u202eevil\n${'x'.repeat(500)}`;
    const { userCode } = await world.signIn.beginDeviceGrant({ ...from, client });
    const { grant } = await world.people.findDeviceGrant({ userCode });
    expect(grant?.client).toBe(`goodevil${'x'.repeat(192)}`);
  });
});

async function openWorld(open: (typeof testDatabases)[number]['open']) {
  const { database, ...opened } = await open();
  const time = new ManualTime(startMs);
  onTestFinished(() => time[Symbol.dispose]());
  const withKeys = (hashKeys: readonly HashKey[]) => {
    const runtime = { logger: createLogger('identity', 'silent'), metrics: new Metrics() };
    const { routes } = createIdentityService({ hashKeys, personTokens }, { database }, runtime);
    return {
      identity: directClientOf(routes, IdentityService),
      signIn: directClientOf(routes, SignInService),
      people: directClientOf(routes, PersonService),
    };
  };
  const clients = withKeys([key]);
  const { identity, signIn, people } = clients;
  const tokensOf = async (deviceCode: string) => {
    const { result } = await signIn.redeemDeviceCode({ deviceCode, client: from.client, address: from.address });
    if (result.case !== 'tokens') throw new Error(`no tokens, but ${result.value}`);
    return result.value;
  };
  const approved = async () => {
    const grant = await signIn.beginDeviceGrant(from);
    await people.decideDeviceGrant({ userCode: grant.userCode, person: dana });
    return grant;
  };
  const refresh = async (refreshToken: string) => (await signIn.refreshSession({ refreshToken })).tokens;
  return {
    ...clients,
    ...{ time, database, withKeys, tokensOf, approved, refresh },
    resolve: async (text: string) => (await identity.resolve({ tokenSha256: tokenSha256(text) })).token,
    problemOf: async (deviceCode: string) => {
      const { result } = await signIn.redeemDeviceCode({ deviceCode });
      return result.case === 'problem' ? result.value : result.case;
    },
    signedIn: async () => tokensOf((await approved()).deviceCode),
    refreshed: async (refreshToken: string) => {
      const tokens = await refresh(refreshToken);
      if (tokens === undefined) throw new Error('the refresh was refused');
      return tokens;
    },
    [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
  };
}
