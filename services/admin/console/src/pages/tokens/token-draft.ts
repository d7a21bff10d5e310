import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { formatCount } from '@gateway/presentation';
import type { UpdateTokenRequestSchema } from '@gateway/proto/admin/v1/token_service_pb.js';
import { type Token, TokenKind } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { type Limits, LimitsSchema } from '@gateway/proto/limiter/v1/limit_pb.js';
import { formatMoment, msOf } from '../../ui/time.tsx';

/** The typed fields of a token. Empty limits are none; an empty expiry is never. */
export interface TokenDraft {
  readonly kind: 'service' | 'personal';
  readonly label: string;
  readonly requestsPerMinute: string;
  readonly tokensPerDay: string;
  readonly note: string;
  /** "2026-12-31T23:59" in the operator's zone. */
  readonly expiresAt: string;
}

/** Names of these fields in the problems of a request. */
export const tokenFieldNames = [
  'kind',
  'label',
  'limits.requestsPerMinute',
  'limits.tokensPerDay',
  'note',
  'expiresAt',
];

export const emptyToken: TokenDraft = {
  kind: 'service',
  label: '',
  requestsPerMinute: '60',
  tokensPerDay: '1000000',
  note: '',
  expiresAt: '',
};

export function draftOf({ kind, label, limits, note, expiresAt }: Token): TokenDraft {
  return {
    kind: kind === TokenKind.PERSONAL ? 'personal' : 'service',
    label,
    requestsPerMinute: limits?.requestsPerMinute?.toString() ?? '',
    tokensPerDay: limits?.tokensPerDay?.toString() ?? '',
    note,
    expiresAt: expiresAt === undefined ? '' : localText(msOf(expiresAt)),
  };
}

/** Personal tokens have no limits. */
export function limitsOf({ kind, requestsPerMinute, tokensPerDay }: TokenDraft): Limits {
  if (kind === 'personal') return create(LimitsSchema);
  return create(LimitsSchema, {
    requestsPerMinute: requestsPerMinute === '' ? undefined : Number(requestsPerMinute),
    tokensPerDay: tokensPerDay === '' ? undefined : BigInt(tokensPerDay),
  });
}

export function expiryOf({ expiresAt }: TokenDraft) {
  return expiresAt === '' ? undefined : timestampFromMs(new Date(expiresAt).getTime());
}

/**
 * Contains only changed fields, so that changes by others stay. @param seen the token as the
 * operator saw it at the beginning.
 */
export function updateOf(seen: Token, draft: TokenDraft): MessageInitShape<typeof UpdateTokenRequestSchema> {
  const before = draftOf(seen);
  const limitsChanged =
    draft.requestsPerMinute !== before.requestsPerMinute || draft.tokensPerDay !== before.tokensPerDay;
  const expiryChanged = draft.expiresAt !== before.expiresAt;
  return {
    tokenId: seen.tokenId,
    ...(draft.label !== before.label && { label: draft.label }),
    // Limits are replaced as a whole: those that the form does not show stay.
    ...(limitsChanged && { limits: withOthers(limitsOf(draft), seen.limits) }),
    ...(draft.note !== before.note && { note: draft.note }),
    ...(expiryChanged && (draft.expiresAt === '' ? { clearExpiry: true } : { expiresAt: expiryOf(draft) })),
  };
}

function withOthers(limits: Limits, { concurrentRequests, budget }: Partial<Limits> = {}): Limits {
  return create(LimitsSchema, { ...limits, concurrentRequests, budget });
}

/** The changes by another person, one line for each field. */
export function differences(seen: Token, now: Token): readonly string[] {
  const rows: readonly (readonly [string, (token: Token) => string])[] = [
    ['Label', ({ label }) => label],
    ['Requests per minute', ({ limits }) => limitText(limits?.requestsPerMinute)],
    ['Tokens per day', ({ limits }) => limitText(limits?.tokensPerDay)],
    ['Note', ({ note }) => note || 'none'],
    ['Expires', ({ expiresAt }) => (expiresAt === undefined ? 'never' : formatMoment(expiresAt))],
    ['Revoked', ({ revokedAt }) => (revokedAt === undefined ? 'no' : 'yes')],
  ];
  return rows.flatMap(([name, textOf]) => {
    const [before, after] = [textOf(seen), textOf(now)];
    return before === after ? [] : [`${name}: ${before} → ${after}`];
  });
}

export function limitText(limit: number | bigint | undefined): string {
  return limit === undefined ? 'unlimited' : formatCount(limit);
}

function localText(ms: number): string {
  return new Date(ms - new Date(ms).getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
