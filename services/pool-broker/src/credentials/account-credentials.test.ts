import { EventEmitter } from 'node:events';
import { Secret } from '@gateway/config';
import { describe, expect, it } from 'vitest';
import {
  sampleOAuthAccount as account,
  type ScriptedAnswer,
  tokensNumbered,
  worldOf,
} from './__fixtures__/refresher-under-test.ts';
import { AccountCredentials } from './account-credentials.ts';
import { memoryGrants } from './grants.ts';
import type { TokenAnswer } from './token-endpoint.ts';
import type { RefreshContext } from './token-refresher.ts';

const hourMs = 3_600_000;

function credentialsWith(answers: ScriptedAnswer[], random = 0) {
  const world = worldOf(answers);
  const problems: string[] = [];
  const renewed: number[] = [];
  const replica = (jitter = random) => {
    const changes: RefreshContext['changes'] = new EventEmitter();
    changes.on('problem', () => problems.push('problem'));
    changes.on('renewed', (_id, issuedAtMs) => renewed.push(issuedAtMs));
    return new AccountCredentials({ ...world.context, changes, random: () => jitter });
  };
  /** Erases everything that was stored. */
  const loseGrants = () => {
    const empty = memoryGrants();
    world.store.read = (which) => empty.read(which);
    world.store.save = (which, grant) => empty.save(which, grant);
  };
  return { ...world, problems, renewed, replica, loseGrants };
}

const texts = async (credentials: AccountCredentials, refused?: string) =>
  (await credentials.secretOf(account, refused)).text;

describe('a plain secret', () => {
  it('is given as it is, for a minute, whatever was refused', async () => {
    const { replica } = credentialsWith([]);
    const plain = { id: 'p/a', pool: 'p', credential: { kind: 'api_key' as const, secret: new Secret('k') } };
    const secret = { kind: 'api_key', text: 'k', version: '', cacheableUntilMs: 60_000 };
    expect(await replica().secretOf(plain)).toEqual(secret);
    expect(await replica().secretOf(plain, 'v1')).toEqual(secret);
  });
});

describe('an access token', () => {
  it('is given until shortly before its end, without asking the store', async () => {
    const { replica, asked, time, store } = credentialsWith([tokensNumbered(1, hourMs)]);
    const credentials = replica();
    await credentials.secretOf(account);
    store.read = () => Promise.reject(new Error('away'));
    time.setMs(hourMs - 300_000 - 1);
    expect(await credentials.secretOf(account)).toMatchObject({
      kind: 'bearer',
      text: 'at-1',
      cacheableUntilMs: hourMs - 300_000,
    });
    expect(asked).toHaveLength(1);
  });

  it('is replaced ahead of its end, and is used meanwhile', async () => {
    const { replica, asked, time } = credentialsWith([tokensNumbered(1, hourMs), tokensNumbered(2, 2 * hourMs)]);
    const credentials = replica();
    await credentials.secretOf(account);
    time.setMs(hourMs - 300_000);
    const { text, cacheableUntilMs } = await credentials.secretOf(account);
    expect(text).toBe('at-1');
    expect(cacheableUntilMs).toBe(time.nowMs + 1_000);
    await expect.poll(() => texts(credentials)).toBe('at-2');
    expect(asked).toEqual(['rt-0', 'rt-1']);
  });

  it('is replaced at other times by other replicas', async () => {
    const { replica } = credentialsWith([tokensNumbered(1, 60_000)]);
    const [early, late] = [replica(0), replica(0.999)];
    const [{ cacheableUntilMs: earlyMs }, { cacheableUntilMs: lateMs }] = [
      await early.secretOf(account),
      await late.secretOf(account),
    ];
    expect(earlyMs).toBe(45_000);
    expect(lateMs).toBeGreaterThan(49_000);
  });

  it('is never given once it is about to end', async () => {
    const { replica, time } = credentialsWith([
      tokensNumbered(1, hourMs),
      { kind: 'failed', reason: 'HTTP 503', retryAfterMs: 0, mayHaveCounted: false },
    ]);
    const credentials = replica();
    await credentials.secretOf(account);
    time.setMs(hourMs - 5_000);
    await expect(credentials.secretOf(account)).rejects.toMatchObject({ code: 'providers_unavailable' });
  });

  it('is kept while its refresh fails ahead of its end', async () => {
    const { replica, time, reported } = credentialsWith([
      tokensNumbered(1, hourMs),
      { kind: 'failed', reason: 'HTTP 401, invalid_client', retryAfterMs: 300_000, mayHaveCounted: false },
    ]);
    const credentials = replica();
    await credentials.secretOf(account);
    time.setMs(hourMs - 60_000);
    expect(await texts(credentials)).toBe('at-1');
    await expect.poll(() => reported).toEqual(['refreshed', 'failed']);
    expect(await texts(credentials)).toBe('at-1');
  });

  it('that was refused is replaced, unless it is new or replaced already', async () => {
    const { replica, asked, time } = credentialsWith([tokensNumbered(1, hourMs), tokensNumbered(2, hourMs)]);
    const credentials = replica();
    const { version } = await credentials.secretOf(account);
    time.setMs(29_999);
    expect(await texts(credentials, version)).toBe('at-1');
    time.setMs(30_000);
    expect(await texts(credentials, 'another version')).toBe('at-1');
    expect(await texts(credentials, version)).toBe('at-2');
    expect(await texts(credentials, version)).toBe('at-2');
    expect(asked).toHaveLength(2);
  });

  it('that another replica got is looked up when it is refused here', async () => {
    const { replica, asked, time } = credentialsWith([1, 2, 3].map((n) => tokensNumbered(n, hourMs)));
    const [here, there] = [replica(), replica()];
    const { version: first } = await here.secretOf(account);
    time.setMs(30_000);
    const { version: second } = await there.secretOf(account, first);
    time.setMs(60_000);
    expect(await texts(here, second)).toBe('at-3');
    expect(asked).toHaveLength(3);
  });

  it('that was refused while there was no other is replaced later, though no request asks for it', async () => {
    const away: TokenAnswer = { kind: 'failed', reason: 'HTTP 503', retryAfterMs: 0, mayHaveCounted: false };
    const { replica, asked, time, renewed } = credentialsWith([
      tokensNumbered(1, hourMs),
      away,
      tokensNumbered(2, hourMs),
    ]);
    const credentials = replica();
    const { version } = await credentials.secretOf(account);
    time.setMs(30_000);
    await expect(credentials.secretOf(account, version)).rejects.toThrow(/could not be refreshed/);
    time.setMs(40_000);
    await credentials.keepFresh([{ ...account, state: 'active' }]);
    expect(asked).toHaveLength(3);
    expect(renewed).toEqual([0, 40_000]);
    time.setMs(80_000);
    await credentials.keepFresh([{ ...account, state: 'active' }]);
    expect(asked).toHaveLength(3);
  });

  it('is known to be newer than what was sent before, whichever replica got it', async () => {
    const { replica, time } = credentialsWith([tokensNumbered(1, hourMs)]);
    const [here, there] = [replica(), replica()];
    expect(await here.isNewerThan(account, 0)).toBe(false);
    time.setMs(5_000);
    await there.secretOf(account);
    expect([await here.isNewerThan(account, 4_999), await here.isNewerThan(account, 5_000)]).toEqual([true, false]);
  });

  it('of an account that needs a person is none, and the problem is reported', async () => {
    const { replica, problems } = credentialsWith([{ kind: 'invalid_grant' }]);
    const credentials = replica();
    await expect(credentials.secretOf(account)).rejects.toThrow(/invalid_grant/);
    await expect(credentials.secretOf(account)).rejects.toThrow(/invalid_grant/);
    expect(problems).toContain('problem');
  });

  it('is not asked for with the configured refresh token once what was stored is lost', async () => {
    const { replica, asked, time, loseGrants } = credentialsWith([tokensNumbered(1, hourMs)]);
    const credentials = replica();
    await credentials.secretOf(account);
    loseGrants();
    time.setMs(hourMs);
    await expect(credentials.secretOf(account)).rejects.toThrow(/could not be refreshed/);
    expect(asked).toHaveLength(1);
  });

  it('begins anew when what was stored is lost, if the provider never replaced the refresh token', async () => {
    const same = (text: string, expiresAtMs: number): TokenAnswer => {
      return { kind: 'tokens', accessToken: new Secret(text), refreshToken: undefined, expiresAtMs };
    };
    const { replica, asked, time, loseGrants } = credentialsWith([same('at-1', hourMs), same('at-2', 2 * hourMs)]);
    const [credentials, other] = [replica(), replica()];
    await credentials.secretOf(account);
    expect(await texts(other)).toBe('at-1');
    loseGrants();
    time.setMs(hourMs);
    expect([await texts(credentials), await texts(other)]).toEqual(['at-2', 'at-2']);
    expect(asked).toEqual(['rt-0', 'rt-0']);
  });
});
