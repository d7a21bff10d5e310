import type { StoredTokenKind } from '@gateway/database';
import { GatewayError } from '@gateway/errors';
import type { IdentityService } from '@gateway/proto/identity/v1/identity_service_pb.js';
import type { Handlers } from '@gateway/rpc';
import type { Metrics } from '@gateway/telemetry';
import { epochMs } from '@gateway/time';
import { createTokenText, detailProblems, type GivenDetails, maxKeepOldSeconds, tokenSha256 } from '@gateway/tokens';
import type { ChangeFeed } from '../changes/change-feed.ts';
import { type HashKey, hashWith } from '../hashing/hash-key.ts';
import type { GroupStore } from '../store/group-store.ts';
import type { Token, TokenStore } from '../store/token-store.ts';
import { fromAccessMessage, fromLimitsMessage } from './rule-messages.ts';
import { fromKindMessage, fromPageToken, toPageToken, toTokenMessage } from './token-messages.ts';

export interface IdentityParts {
  readonly store: TokenStore;
  readonly groups: Pick<GroupStore, 'find'>;
  /** The current one first: it hashes new tokens. */
  readonly hashKeys: readonly HashKey[];
  readonly changes: ChangeFeed;
  readonly metrics: Metrics;
  /** Aborted when watchers must move to another replica. */
  readonly draining: AbortSignal;
}

export function identityHandlers(parts: IdentityParts): Handlers<typeof IdentityService> {
  const { store, groups, hashKeys, changes, metrics, draining } = parts;
  const [currentKey] = hashKeys;
  if (currentKey === undefined) throw new TypeError('Token hashes need at least one key.');
  const resolutions = metrics.counter({
    name: 'gateway_token_resolutions_total',
    help: 'Token lookups, by result.',
    labels: ['result'],
  });
  for (const result of ['valid', 'unknown', 'revoked', 'expired']) resolutions.inc({ result }, 0);
  const newText = (kind: StoredTokenKind) => {
    const tokenText = createTokenText(kind);
    return { tokenText, hash: hashWith(currentKey, tokenSha256(tokenText)) };
  };
  const message = (token: Token) => toTokenMessage(token, epochMs());
  /** @throws GatewayError when the token does not exist or was revoked, which is permanent. */
  const unrevoked = async (tokenId: string): Promise<Token> => {
    const token = await store.findById(tokenId);
    if (token === undefined) throw noSuchToken();
    if (token.revoked_at_ms !== null) throw new GatewayError('invalid_request', 'The token is revoked.');
    return token;
  };
  /** Null for none. @throws GatewayError when there is no such group. */
  const knownGroup = async (groupId: string): Promise<string | null> => {
    if (groupId === '') return null;
    if ((await groups.find(groupId)) === undefined) {
      throw new GatewayError('invalid_request', 'group_id belongs to no group.');
    }
    return groupId;
  };
  return {
    /** The token with this digest; none when it is unknown, revoked or expired. */
    async resolve({ tokenSha256: digest }) {
      if (digest.length !== 32) throw new GatewayError('invalid_request', 'token_sha256 must be 32 bytes.');
      const hashes = hashKeys.map((key) => hashWith(key, digest));
      // The group may be deleted between the two readings: a token must not be free of its rules.
      for (let tries = 0; tries < 3; tries++) {
        const token = await store.findByHash(hashes);
        const result = stateOf(token, epochMs());
        const isValid = token !== undefined && result === 'valid';
        const groupId = isValid ? token.group_id : null;
        const group = groupId === null ? undefined : await groups.find(groupId, { evenDeleted: true });
        if (groupId !== null && group === undefined) continue;
        resolutions.inc({ result });
        return isValid ? { token: toTokenMessage(token, epochMs(), group) } : {};
      }
      throw new GatewayError('internal_error', 'The group of the token does not exist.');
    },

    /** Issues a token. Only this answer ever contains its text. */
    async issue(request) {
      const kind = fromKindMessage(request.kind);
      const limits = request.limits === undefined ? {} : fromLimitsMessage(request.limits);
      const [label, note] = [request.label.trim(), request.note.trim()];
      const { expiresAtMs } = request;
      const access = request.access === undefined ? everything : fromAccessMessage(request.access);
      const nowMs = epochMs();
      checkDetails({ kind, limits, label: request.label, note, expiresAtMs, access }, nowMs);
      const groupId = await knownGroup(request.groupId);
      const { tokenText, hash } = newText(kind);
      const token = await store.add({ kind, label, limits, note, expiresAtMs, hash, groupId, access }, nowMs);
      return { token: message(token), tokenText };
    },

    /**
     * Revokes a token permanently. A token that is already revoked keeps its time of revocation.
     */
    async revoke({ tokenId }) {
      const token = await store.revoke(tokenId, epochMs());
      if (token === undefined) throw noSuchToken();
      changes.announce();
      return { token: message(token) };
    },

    /**
     * Changes the given details. An expired token becomes valid again when it gets a later expiry.
     */
    async update({ tokenId, label, note, expectedRevision, ...request }) {
      const { kind } = await unrevoked(tokenId);
      const limits = request.limits && fromLimitsMessage(request.limits);
      const { expiresAtMs } = request;
      if (request.clearExpiry && expiresAtMs !== undefined) {
        throw new GatewayError('invalid_request', 'expires_at_ms and clear_expiry are both set. Set one of them.');
      }
      const access = request.access && fromAccessMessage(request.access);
      const given = [label, limits, note, expiresAtMs, request.groupId, access];
      const isEmpty = given.every((each) => each === undefined) && !request.clearExpiry;
      if (isEmpty) throw new GatewayError('invalid_request', 'The request changes nothing.');
      checkDetails({ kind, label, limits, note, expiresAtMs, access }, epochMs());
      const groupId = request.groupId === undefined ? undefined : await knownGroup(request.groupId);
      const details = {
        ...{ label: label?.trim(), note: note?.trim(), limits, groupId, access },
        expiresAtMs: request.clearExpiry ? null : expiresAtMs,
      };
      const changed = await store.update(tokenId, details, expectedRevision);
      if (changed === undefined) return { token: message(await unrevoked(tokenId)), conflict: true };
      changes.announce();
      return { token: message(changed) };
    },

    /** Replaces a token's text. Only this answer ever contains the new text. */
    async rotate({ tokenId, keepOldSeconds, expectedRevision }) {
      if (keepOldSeconds > maxKeepOldSeconds) {
        throw new GatewayError('invalid_request', `keep_old_seconds must be at most ${maxKeepOldSeconds} (30 days).`);
      }
      const nowMs = epochMs();
      const before = await unrevoked(tokenId);
      if (stateOf(before, nowMs) === 'expired') {
        throw new GatewayError('invalid_request', 'The token has expired. Set a later expiry first.');
      }
      const { tokenText, hash } = newText(before.kind);
      const oldUntilMs = keepOldSeconds === 0 ? undefined : nowMs + keepOldSeconds * 1_000;
      const rotated = await store.rotate(tokenId, hash, oldUntilMs, expectedRevision);
      if (rotated === undefined) return { token: message(await unrevoked(tokenId)), conflict: true };
      changes.announce();
      return { token: message(rotated), tokenText };
    },

    /** Lists matching tokens, newest first. */
    async list({ includeRevoked, search, groupId, pageSize, pageToken, tokenIds }) {
      if (tokenIds.length > maxIds) {
        throw new GatewayError('invalid_request', `token_ids must be at most ${maxIds}.`);
      }
      if (tokenIds.length > 0) return { tokens: (await store.findByIds(tokenIds)).map(message) };
      // No label, note or id contains NUL, which Postgres does not accept in a query either.
      if (search.includes('\0')) return {};
      if (search.length > maxSearchLength) {
        throw new GatewayError('invalid_request', `search must be at most ${maxSearchLength} characters.`);
      }
      const size = pageSize === 0 ? Infinity : pageSize;
      const query = { includeEnded: includeRevoked, search, groupId, after: fromPageToken(pageToken) };
      // One extra row shows whether there is another page.
      const found = await store.list({ ...query, most: size + 1 }, epochMs());
      const tokens = found.slice(0, size);
      const last = tokens.at(-1);
      const nextPageToken = last !== undefined && found.length > tokens.length ? toPageToken(last) : '';
      return { tokens: tokens.map(message), nextPageToken };
    },

    /**
     * Streams the ids of tokens that changed or were revoked. The first message is empty: every
     * change after it is delivered.
     */
    async *watchChanges(_request, { signal }) {
      const until = AbortSignal.any([signal, draining]);
      for await (const tokenIds of changes.watch(until)) yield { tokenIds: [...tokenIds] };
    },
  };
}

const everything = { models: [], accountLabels: [] };
const maxIds = 1_000;
const maxSearchLength = 200;

function stateOf(token: Token | undefined, nowMs: number): 'valid' | 'unknown' | 'revoked' | 'expired' {
  if (token === undefined) return 'unknown';
  if (token.revoked_at_ms !== null) return 'revoked';
  return token.expires_at_ms !== null && nowMs >= token.expires_at_ms ? 'expired' : 'valid';
}

/** @throws GatewayError `invalid_request` that lists all problems. */
function checkDetails(details: GivenDetails, nowMs: number): void {
  const problems = Object.entries(detailProblems(details, nowMs)).map(([field, text]) => `${field} ${text}`);
  if (problems.length > 0) throw new GatewayError('invalid_request', problems.join(' '));
}

function noSuchToken(): GatewayError {
  return new GatewayError('not_found', 'No token has this token_id.');
}
