import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { formatCount } from '@gateway/presentation';
import type { UpdateTokenRequestSchema } from '@gateway/proto/admin/v1/token_service_pb.js';
import {
  type AccessRules,
  AccessRulesSchema,
  type Token,
  TokenKind,
} from '@gateway/proto/identity/v1/identity_service_pb.js';
import { type Limits, LimitsSchema } from '@gateway/proto/limiter/v1/limit_pb.js';
import { formatMoment, msOf } from '../../ui/time.tsx';
import { partsOf } from '../groups/group-draft.ts';

/** The typed fields of a token. Empty limits are none; an empty expiry is never. */
export interface TokenDraft {
  readonly kind: 'service' | 'personal';
  readonly label: string;
  readonly requestsPerMinute: string;
  readonly tokensPerDay: string;
  readonly concurrentRequests: string;
  /** The id of its group. Empty: none. */
  readonly groupId: string;
  /** Patterns and labels, separated by commas. */
  readonly models: string;
  readonly accountLabels: string;
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
  'limits.concurrentRequests',
  'groupId',
  'access.models',
  'access.accountLabels',
  'note',
  'expiresAt',
];

export const emptyToken: TokenDraft = {
  kind: 'service',
  label: '',
  requestsPerMinute: '60',
  tokensPerDay: '1000000',
  concurrentRequests: '',
  groupId: '',
  models: '',
  accountLabels: '',
  note: '',
  expiresAt: '',
};

export function draftOf({ kind, label, limits, groupId, access, note, expiresAt }: Token): TokenDraft {
  return {
    kind: kind === TokenKind.PERSONAL ? 'personal' : 'service',
    label,
    requestsPerMinute: limits?.requestsPerMinute?.toString() ?? '',
    tokensPerDay: limits?.tokensPerDay?.toString() ?? '',
    concurrentRequests: limits?.concurrentRequests?.toString() ?? '',
    groupId,
    models: access?.models.join(', ') ?? '',
    accountLabels: access?.accountLabels.join(', ') ?? '',
    note,
    expiresAt: expiresAt === undefined ? '' : localText(msOf(expiresAt)),
  };
}

/** Personal tokens have no limits. */
export function limitsOf({ kind, requestsPerMinute, tokensPerDay, concurrentRequests }: TokenDraft): Limits {
  if (kind === 'personal') return create(LimitsSchema);
  return create(LimitsSchema, {
    requestsPerMinute: requestsPerMinute === '' ? undefined : Number(requestsPerMinute),
    tokensPerDay: tokensPerDay === '' ? undefined : BigInt(tokensPerDay),
    concurrentRequests: concurrentRequests === '' ? undefined : Number(concurrentRequests),
  });
}

export function accessOf({ models, accountLabels }: TokenDraft): AccessRules {
  return create(AccessRulesSchema, { models: partsOf(models), accountLabels: partsOf(accountLabels) });
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
  const differs = (...names: readonly (keyof TokenDraft)[]) => names.some((name) => draft[name] !== before[name]);
  return {
    tokenId: seen.tokenId,
    ...(differs('label') && { label: draft.label }),
    // Limits are replaced as a whole: those that the form does not show stay.
    ...(differs('requestsPerMinute', 'tokensPerDay', 'concurrentRequests') && {
      limits: withBudget(limitsOf(draft), seen.limits),
    }),
    ...(differs('models', 'accountLabels') && { access: accessOf(draft) }),
    ...(differs('groupId') && { groupId: draft.groupId }),
    ...(differs('note') && { note: draft.note }),
    ...(differs('expiresAt') && (draft.expiresAt === '' ? { clearExpiry: true } : { expiresAt: expiryOf(draft) })),
  };
}

function withBudget(limits: Limits, { budget }: Partial<Limits> = {}): Limits {
  return create(LimitsSchema, { ...limits, budget });
}

/** The changes by another person, one line for each field. */
export function differences(seen: Token, now: Token): readonly string[] {
  const rows: readonly (readonly [string, (token: Token) => string])[] = [
    ['Label', ({ label }) => label],
    ['Requests per minute', ({ limits }) => limitText(limits?.requestsPerMinute)],
    ['Tokens per day', ({ limits }) => limitText(limits?.tokensPerDay)],
    ['Requests at a time', ({ limits }) => limitText(limits?.concurrentRequests)],
    ['Group', ({ groupId }) => groupId || 'none'],
    ['Models', ({ access }) => access?.models.join(', ') || 'all'],
    ['Account labels', ({ access }) => access?.accountLabels.join(', ') || 'any account'],
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
