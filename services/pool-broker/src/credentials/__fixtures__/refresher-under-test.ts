import { EventEmitter } from 'node:events';
import { type OAuthCredential, Secret } from '@gateway/config';
import { epochMs } from '@gateway/time';
import { ManualTime } from '@gateway/time/simulated';
import { expect, onTestFinished } from 'vitest';
import type { CredentialEvents } from '../../metrics.ts';
import { type GrantStore, memoryGrants, type OAuthAccount } from '../grants.ts';
import type { TokenAnswer } from '../token-endpoint.ts';
import { type RefreshContext, TokenRefresher } from '../token-refresher.ts';

export const sampleCredential: OAuthCredential = {
  kind: 'oauth',
  tokenUrl: 'https://auth.test/token',
  clientId: 'c',
  clientSecret: undefined,
  refreshToken: new Secret('rt-0'),
  scopes: [],
};

export const sampleOAuthAccount: OAuthAccount = { id: 'p/a', pool: 'p', credential: sampleCredential };

/** Answers are given in order; each may take time. */
export type ScriptedAnswer = TokenAnswer | (() => Promise<TokenAnswer>);

export function tokensNumbered(n: number, expiresAtMs = 3_600_000): TokenAnswer {
  return { kind: 'tokens', accessToken: new Secret(`at-${n}`), refreshToken: new Secret(`rt-${n}`), expiresAtMs };
}

/**
 * The parts that several refreshers share: a store, the time and an endpoint with scripted answers.
 */
export function worldOf(answers: ScriptedAnswer[], store: GrantStore = memoryGrants()) {
  const time = new ManualTime(0);
  onTestFinished(() => time[Symbol.dispose]());
  const asked: string[] = [];
  const reported: string[] = [];
  const stop = new AbortController();
  const events: CredentialEvents = {
    poolIsKnown: () => undefined,
    refreshEnded: (_pool, result) => reported.push(result),
    notPersisted: () => reported.push('not persisted'),
    unreadable: () => reported.push('unreadable'),
    accountsRefused: () => undefined,
    tokensKeptInMemory: () => undefined,
    notRead: () => undefined,
  };
  const context: RefreshContext = {
    store: { nowMs: epochMs },
    grants: store,
    events,
    random: () => 0,
    refreshAheadMs: 300_000,
    requestTimeoutMs: 1_000,
    changes: new EventEmitter(),
    signal: stop.signal,
    endpoint: async (_credential, refreshToken) => {
      asked.push(refreshToken.reveal());
      const answer = answers.shift() ?? expect.fail('no further question was expected');
      return typeof answer === 'function' ? answer() : answer;
    },
  };
  const refresher = (account = sampleOAuthAccount, more: Partial<RefreshContext> = {}) =>
    new TokenRefresher(account, { ...context, ...more });
  return { time, store, asked, reported, context, refresher, stop };
}
