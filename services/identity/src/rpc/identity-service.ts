import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { StoredTokenKind } from '@gateway/database';
import { GatewayError } from '@gateway/errors';
import { type IdentityService, TokenKind, type TokenSchema } from '@gateway/proto/identity/v1/identity_service_pb.js';
import type { Limits } from '@gateway/proto/limiter/v1/limit_pb.js';
import type { Handlers } from '@gateway/rpc';
import type { Metrics } from '@gateway/telemetry';
import type { Clock } from '@gateway/time';
import { createTokenText, tokenSha256 } from '@gateway/tokens';
import type { ChangeFeed } from '../changes/change-feed.ts';
import { type HashKey, hashWith } from '../hashing/hash-key.ts';
import type { Token, TokenStore } from '../store/token-store.ts';
import { checkLabel, checkLimits, type TokenLimits } from '../tokens/token-rules.ts';

export interface IdentityParts {
  readonly store: TokenStore;
  /** Current one first: new tokens are hashed with it. */
  readonly hashKeys: readonly HashKey[];
  readonly changes: ChangeFeed;
  readonly clock: Clock;
  readonly metrics: Metrics;
  /** Aborts when watchers are to go elsewhere. */
  readonly draining: AbortSignal;
}

export function identityHandlers({
  store,
  hashKeys,
  changes,
  clock,
  metrics,
  draining,
}: IdentityParts): Handlers<typeof IdentityService> {
  const [currentKey] = hashKeys;
  if (currentKey === undefined) throw new TypeError('Token hashes need at least one key.');
  const resolutions = metrics.counter({
    name: 'gateway_token_resolutions_total',
    help: 'Presented tokens that were looked up, by what they turned out to be.',
    labels: ['result'],
  });
  for (const result of ['valid', 'unknown', 'revoked']) resolutions.inc({ result }, 0);
  return {
    /** The token behind a digest; no token when it is unknown or revoked. */
    async resolve({ tokenSha256: digest }) {
      if (digest.length !== 32) throw new GatewayError('invalid_request', 'token_sha256 must be 32 bytes.');
      const token = await store.findByHash(hashKeys.map((key) => hashWith(key, digest)));
      const result = token === undefined ? 'unknown' : token.revoked_at_ms === null ? 'valid' : 'revoked';
      resolutions.inc({ result });
      return token !== undefined && result === 'valid' ? { token: toTokenMessage(token) } : {};
    },
    /** A new token. This answer is the only place where its text ever is. */
    async issue(request) {
      const kind = fromKindMessage(request.kind);
      const label = checkLabel(request.label);
      const limits = checkLimits(kind, fromLimitsMessage(request.limits));
      const tokenText = createTokenText(kind);
      const hash = hashWith(currentKey, tokenSha256(tokenText));
      return { token: toTokenMessage(await store.add(kind, label, limits, hash, clock.nowMs())), tokenText };
    },
    /** Ends a token for good. One that is revoked already stays revoked since then. */
    async revoke({ tokenId }) {
      const token = await store.revoke(tokenId, clock.nowMs());
      if (token === undefined) throw noSuchToken();
      changes.announce();
      return { token: toTokenMessage(token) };
    },
    /** Replaces both limits of a valid service token; an absent limit is lifted. */
    async setLimits(request) {
      const limits = checkLimits('service', fromLimitsMessage(request.limits));
      const token = await store.setLimits(request.tokenId, limits, clock.nowMs());
      if (token === undefined) throw whyNotLimited(await store.findById(request.tokenId));
      changes.announce();
      return { token: toTokenMessage(token) };
    },
    /** All tokens, newest first. */
    async list({ includeRevoked }) {
      const tokens = await store.list({ includeRevoked });
      return { tokens: tokens.map(toTokenMessage) };
    },
    /** Ids of tokens that were revoked or given other limits. The first message is empty: from there nothing is missed. */
    async *watchChanges(_request, { signal }) {
      const until = AbortSignal.any([signal, draining]);
      for await (const tokenIds of changes.watch(until)) yield { tokenIds: [...tokenIds] };
    },
  };
}

function toTokenMessage(token: Token): MessageInitShape<typeof TokenSchema> {
  return {
    tokenId: token.token_id,
    kind: token.kind === 'service' ? TokenKind.SERVICE : TokenKind.PERSONAL,
    label: token.label,
    limits: {
      requestsPerMinute: token.requests_per_minute ?? undefined,
      tokensPerDay: token.tokens_per_day === null ? undefined : BigInt(token.tokens_per_day),
    },
    createdAt: timestampFromMs(token.created_at_ms),
    revokedAt: token.revoked_at_ms === null ? undefined : timestampFromMs(token.revoked_at_ms),
  };
}

function fromKindMessage(kind: TokenKind): StoredTokenKind {
  if (kind === TokenKind.SERVICE) return 'service';
  if (kind === TokenKind.PERSONAL) return 'personal';
  throw new GatewayError('invalid_request', 'kind must be service or personal.');
}

/** Limits as they came; absent ones are not limited. A count beyond the safe integers is caught by the rules of tokens. */
function fromLimitsMessage(limits: Limits | undefined): TokenLimits {
  return {
    requestsPerMinute: limits?.requestsPerMinute,
    tokensPerDay: limits?.tokensPerDay === undefined ? undefined : Number(limits.tokensPerDay),
  };
}

function whyNotLimited(token: Token | undefined): GatewayError {
  if (token === undefined) return noSuchToken();
  if (token.kind === 'personal') return new GatewayError('invalid_request', 'A personal token has no limits.');
  return new GatewayError('invalid_request', 'The token is revoked.');
}

function noSuchToken(): GatewayError {
  return new GatewayError('not_found', 'There is no token with this token_id.');
}
