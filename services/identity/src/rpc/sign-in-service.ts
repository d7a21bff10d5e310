import { GatewayError } from '@gateway/errors';
import { GrantProblem, type SignInService } from '@gateway/proto/identity/v1/person_service_pb.js';
import type { Handlers } from '@gateway/rpc';
import type { Metrics } from '@gateway/telemetry';
import { epochMs, randomBytes } from '@gateway/time';
import { parseTokenText, tokenSha256 } from '@gateway/tokens';
import type { ChangeFeed } from '../changes/change-feed.ts';
import type { SessionLimits } from '../config.ts';
import { type HashKey, hashWith } from '../hashing/hash-key.ts';
import type { DeviceGrants } from '../people/device-grants.ts';
import { createSeed, type Person, type PersonSession, type PersonStore } from '../people/person-store.ts';
import type { SessionAudit, SessionStep } from '../people/session-audit.ts';
import { isGenuine, parseRefreshToken, type SessionSeed, sessionTexts } from '../people/session-texts.ts';
import { createUserCode, normalUserCode } from '../people/user-code.ts';
import type { TokenStore } from '../store/token-store.ts';
import { toSessionMessage } from './person-messages.ts';

export interface SignInParts {
  readonly people: PersonStore;
  readonly grants: DeviceGrants;
  readonly tokens: Pick<TokenStore, 'findByHash'>;
  /** The current one first. */
  readonly hashKeys: readonly HashKey[];
  readonly limits: SessionLimits;
  readonly audit: Pick<SessionAudit, 'note'>;
  readonly changes: Pick<ChangeFeed, 'announce'>;
  readonly metrics: Metrics;
}

/** Sign-in of people from their client. @see RFC 8628 and, for refresh tokens, RFC 9700 */
export function signInHandlers(parts: SignInParts): Handlers<typeof SignInService> {
  const { people, grants, tokens, hashKeys, limits, audit, changes, metrics } = parts;
  const [currentKey] = hashKeys;
  if (currentKey === undefined) throw new TypeError('Tokens of sessions need at least one key.');
  const refreshes = metrics.counter({
    name: 'gateway_session_refreshes_total',
    help: "Refreshes of people's sessions, by result.",
    labels: ['result'],
  });
  for (const result of ['rotated', 'repeated', 'refused', 'replayed']) refreshes.inc({ result }, 0);
  const hashesOf = (text: string) => hashKeys.map((key) => hashWith(key, tokenSha256(text)));

  /** The texts of a generation, and how the database keeps the access token. */
  const generationOf = (key: HashKey, session: SessionSeed, generation: number, nowMs: number) => {
    const texts = sessionTexts(key, session, generation);
    const hash = hashWith(key, tokenSha256(texts.accessToken));
    return { texts, stored: { generation, hash, expiresAtMs: nowMs + limits.accessTokenMs } };
  };
  const tokensOf = (texts: ReturnType<typeof sessionTexts>, rotatedAtMs: number, { email }: Person) => {
    const leftMs = rotatedAtMs + limits.accessTokenMs - epochMs();
    return { ...texts, expiresInSeconds: Math.max(1, Math.floor(leftMs / 1_000)), email };
  };
  const end = async (session: PersonSession, action: SessionStep['action'], address = '') => {
    const [ended] = await people.endSessions(session.person_id, session.session_id, epochMs());
    changes.announce();
    if (ended !== undefined)
      await audit.note({ action, session, person: await people.find(session.person_id), address });
    return ended;
  };

  return {
    async beginDeviceGrant({ surface, client, address }) {
      const [deviceCode, userCode, nowMs] = [randomBytes(32).toString('base64url'), createUserCode(), epochMs()];
      const hash = (text: string) => hashWith(currentKey, tokenSha256(text)).hash;
      const codes = { device_code_hash: hash(deviceCode), user_code_hash: hash(normalUserCode(userCode)) };
      const shown = { surface: visible(surface, 100), client: visible(client, 200), address: visible(address, 100) };
      await grants.add({ ...codes, ...shown, expires_at_ms: nowMs + grantSeconds * 1_000 }, nowMs);
      return { deviceCode, userCode, expiresInSeconds: grantSeconds, intervalSeconds: pollSeconds };
    },

    async redeemDeviceCode({ deviceCode, client, address }) {
      const nowMs = epochMs();
      const grant = await grants.poll(hashesOf(deviceCode), nowMs);
      const problem = (value: GrantProblem) => ({ result: { case: 'problem', value } as const });
      if (grant === undefined || grant.state === 'used') return problem(GrantProblem.EXPIRED_TOKEN);
      if (grant.state === 'denied') return problem(GrantProblem.ACCESS_DENIED);
      if (nowMs >= grant.expires_at_ms) return problem(GrantProblem.EXPIRED_TOKEN);
      if (grant.state === 'pending') {
        const isTooSoon = nowMs - grant.polled_at_ms < pollSeconds * 1_000 - toleratedMs;
        return problem(isTooSoon ? GrantProblem.SLOW_DOWN : GrantProblem.AUTHORIZATION_PENDING);
      }
      const person = await people.find(grant.person_id ?? '');
      if (person === undefined || person.disabled_at_ms !== null) return problem(GrantProblem.ACCESS_DENIED);
      const seed = createSeed();
      const { texts, stored } = generationOf(currentKey, seed, 1, nowMs);
      const shown = { surface: grant.surface, client: visible(client, 200), address: visible(address, 100) };
      const session = await people.begin(grant.device_code_hash, person, { ...seed, ...shown }, stored, nowMs);
      if (session === undefined) return problem(GrantProblem.EXPIRED_TOKEN);
      await audit.note({ action: 'person_session.begin', session, person, address: shown.address });
      return { result: { case: 'tokens', value: tokensOf(texts, nowMs, person) } };
    },

    async refreshSession({ refreshToken, client, address }) {
      const presented = parseRefreshToken(refreshToken, hashKeys);
      const found = presented && (await people.findSession(presented.sessionId));
      const refused = (result: 'refused' | 'replayed') => {
        refreshes.inc({ result });
        return {};
      };
      if (presented === undefined || found === undefined) return refused('refused');
      const seed = { sessionId: found.session.session_id, seed: found.session.seed };
      if (!hashKeys.some((key) => isGenuine(key, seed, presented))) return refused('refused');
      const shown = { client: visible(client, 200), address: visible(address, 100) };
      // Another client may rotate the session between reading and writing.
      for (let { session, person } = found, tries = 0; tries < 3; tries++) {
        const nowMs = epochMs();
        if (!isOpen(session, person, limits, nowMs)) return refused('refused');
        const age = session.generation - presented.generation;
        const key = hashKeys.find(({ id }) => id === session.hash_key_id);
        if (age === 1 && nowMs - session.rotated_at_ms < graceMs && key !== undefined) {
          refreshes.inc({ result: 'repeated' });
          const { texts } = generationOf(key, seed, session.generation, nowMs);
          return { tokens: tokensOf(texts, session.rotated_at_ms, person) };
        }
        if (age !== 0) {
          // An old refresh token is in use: it, or a newer one, was stolen.
          await end(session, 'person_session.replay', shown.address);
          return refused('replayed');
        }
        const { texts, stored } = generationOf(currentKey, seed, session.generation + 1, nowMs);
        const rotated = await people.rotate(session, stored, shown, nowMs);
        if (rotated !== undefined) {
          changes.announce();
          refreshes.inc({ result: 'rotated' });
          return { tokens: tokensOf(texts, nowMs, person) };
        }
        const again = await people.findSession(presented.sessionId);
        if (again === undefined) return refused('refused');
        ({ session, person } = again);
      }
      throw new GatewayError('internal_error', 'The session changes too often. Try again.');
    },

    async endSession({ token }) {
      const refresh = parseRefreshToken(token, hashKeys);
      if (refresh !== undefined) {
        const found = await people.findSession(refresh.sessionId);
        if (found === undefined) return {};
        const seed = { sessionId: found.session.session_id, seed: found.session.seed };
        const isOurs = hashKeys.some((key) => isGenuine(key, seed, refresh));
        return isOurs ? sessionAnswer(await end(found.session, 'person_session.end'), limits) : {};
      }
      if (parseTokenText(token)?.kind !== 'personal') return {};
      const access = await tokens.findByHash(hashesOf(token));
      const session = access && (await people.findSessionOf(access.token_id));
      return session === undefined ? {} : sessionAnswer(await end(session, 'person_session.end'), limits);
    },
  };
}

/** How long a person has to approve a grant. */
const grantSeconds = 600;
const pollSeconds = 5;
/** A poll that is early by this much is not too soon: networks are uneven. */
const toleratedMs = 1_000;
/** How long the previous refresh token gets the answer of the current one. */
const graceMs = 60_000;

function isOpen(session: PersonSession, person: Person, limits: SessionLimits, nowMs: number): boolean {
  if (session.ended_at_ms !== null || person.disabled_at_ms !== null) return false;
  return nowMs < expiryOf(session, limits);
}

/** When a session ends if it is not refreshed. */
export function expiryOf(
  { rotated_at_ms, created_at_ms }: Pick<PersonSession, 'rotated_at_ms' | 'created_at_ms'>,
  { idleMs, maxMs }: SessionLimits,
): number {
  return Math.min(rotated_at_ms + idleMs, created_at_ms + maxMs);
}

function sessionAnswer(session: PersonSession | undefined, limits: SessionLimits) {
  return session === undefined ? {} : { session: toSessionMessage(session, expiryOf(session, limits)) };
}

/** The beginning of a text of a client, without characters that are invisible. */
export function visible(text: string, maxLength: number): string {
  const shown = text.toWellFormed().replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '');
  return [...shown].slice(0, maxLength).join('').trim();
}
