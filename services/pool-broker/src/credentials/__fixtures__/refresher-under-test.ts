import { createSecretKey } from 'node:crypto';
import { type OAuthCredential, Secret } from '@gateway/config';
import { ManualClock } from '@gateway/time';
import { expect } from 'vitest';
import type { CredentialEvents } from '../credential-events.ts';
import type { GrantStore } from '../grants/grant-store.ts';
import { MemoryGrantStore } from '../grants/memory-grant-store.ts';
import type { OAuthAccount } from '../oauth/oauth-account.ts';
import type { TokenAnswer } from '../oauth/token-answer.ts';
import { type RefresherParts, TokenRefresher } from '../oauth/token-refresher.ts';
import { MemoryRefreshLock } from '../refresh-lock/memory-refresh-lock.ts';
import type { RefreshLock } from '../refresh-lock/refresh-lock.ts';
import { Sealer } from '../sealing/sealer.ts';

export const sampleCredential: OAuthCredential = {
  kind: 'oauth',
  tokenUrl: 'https://auth.test/token',
  clientId: 'c',
  clientSecret: undefined,
  refreshToken: new Secret('rt-0'),
  scopes: [],
};

export const sampleOAuthAccount: OAuthAccount = { id: 'p/a', pool: 'p', credential: sampleCredential };

export const keyOfTests = { id: 'k', key: createSecretKey(Buffer.alloc(32, 1)) };

/** Answers in turn; each may take its time. */
export type ScriptedAnswer = TokenAnswer | (() => Promise<TokenAnswer>);

export function tokensNumbered(n: number, expiresAtMs = 3_600_000): TokenAnswer {
  return { kind: 'tokens', accessToken: new Secret(`at-${n}`), refreshToken: new Secret(`rt-${n}`), expiresAtMs };
}

/** What several refreshers share: a store, a lock, a clock, and an endpoint that does what it is told. */
export function worldOf(
  answers: ScriptedAnswer[],
  changes: { readonly store?: GrantStore; readonly lock?: RefreshLock } = {},
) {
  const clock = new ManualClock(0);
  const store = changes.store ?? new MemoryGrantStore();
  const lock = changes.lock ?? new MemoryRefreshLock(clock);
  const sealer = new Sealer([keyOfTests]);
  const asked: string[] = [];
  const told: string[] = [];
  const stop = new AbortController();
  const events: CredentialEvents = {
    refreshEnded: (_pool, result) => told.push(result),
    notPersisted: () => told.push('not persisted'),
    unreadable: () => told.push('unreadable'),
    accountsRefused: () => undefined,
    tokensKeptIn: () => undefined,
    notRead: () => undefined,
  };
  const refresher = (more: Partial<Pick<RefresherParts, 'endpoint'>> = {}) =>
    new TokenRefresher({
      store,
      lock,
      sealer,
      clock,
      events,
      random: () => 0,
      requestTimeoutMs: 1_000,
      signal: stop.signal,
      endpoint: async ({ refreshToken }) => {
        asked.push(refreshToken.reveal());
        const answer = answers.shift() ?? expect.fail('nobody expected another question');
        return typeof answer === 'function' ? answer() : answer;
      },
      ...more,
    });
  return { clock, store, lock, sealer, asked, told, refresher, stop };
}
