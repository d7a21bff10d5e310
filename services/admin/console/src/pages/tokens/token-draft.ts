import { create, type MessageInitShape } from '@bufbuild/protobuf';
import type { UpdateTokenRequestSchema } from '@gateway/proto/admin/v1/token_service_pb.js';
import { type Token, TokenKind } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { type Limits, LimitsSchema } from '@gateway/proto/limiter/v2/limit_pb.js';
import { formatMoment } from '../../ui/time.tsx';
import {
  accessOf,
  changedFields,
  editsOn,
  isEdited,
  limitNames,
  limitsOf,
  type TermsDraft,
  termsDraftOf,
  termsFieldNames,
  termsRows,
} from './terms-draft.ts';

/** The typed fields of a token. An empty expiry is never. */
export interface TokenDraft extends TermsDraft {
  readonly kind: 'service' | 'personal';
  readonly label: string;
  /** Empty: none. */
  readonly groupId: string;
  readonly note: string;
  /** "2026-12-31T23:59" in the operator's zone. */
  readonly expiresAtMs: string;
}

/** Names of these fields in the problems of a request. */
export const tokenFieldNames = ['kind', 'label', ...termsFieldNames, 'groupId', 'note', 'expiresAtMs'];

export const emptyToken: TokenDraft = {
  kind: 'service',
  label: '',
  groupId: '',
  ...termsDraftOf({}),
  requestsPerMinute: '60',
  tokensPerDay: '1000000',
  note: '',
  expiresAtMs: '',
};

export function draftOf({ kind, label, groupId, limits, access, note, expiresAtMs }: Token): TokenDraft {
  return {
    kind: kind === TokenKind.PERSONAL ? 'personal' : 'service',
    label,
    groupId,
    ...termsDraftOf({ ...(limits && { limits }), ...(access && { access }) }),
    note,
    expiresAtMs: expiresAtMs === undefined ? '' : localText(expiresAtMs),
  };
}

/** Personal tokens have no limits. */
export function tokenLimitsOf(draft: TokenDraft): Limits {
  return draft.kind === 'personal' ? create(LimitsSchema) : limitsOf(draft);
}

export function expiryOf({ expiresAtMs }: TokenDraft) {
  return expiresAtMs === '' ? undefined : new Date(expiresAtMs).getTime();
}

/**
 * Contains only changed fields, so that changes by others stay. @param seen the token as the
 * operator saw it at the beginning. @param now as it is now.
 */
export function updateOf(
  seen: Token,
  draft: TokenDraft,
  now: Token = seen,
): MessageInitShape<typeof UpdateTokenRequestSchema> {
  const before = draftOf(seen);
  const merged = editsOn(before, draft, draftOf(now));
  const edited = (...names: readonly (keyof TokenDraft)[]) => isEdited(before, draft, names);
  return {
    tokenId: seen.tokenId,
    ...(edited('label') && { label: draft.label }),
    ...(edited('groupId') && { groupId: draft.groupId }),
    ...(edited(...limitNames) && { limits: tokenLimitsOf(merged) }),
    ...(edited('models', 'accountLabels') && { access: accessOf(merged) }),
    ...(edited('note') && { note: draft.note }),
    ...(edited('expiresAtMs') && (draft.expiresAtMs === '' ? { clearExpiry: true } : { expiresAtMs: expiryOf(draft) })),
  };
}

/**
 * The changes by another person, one line for each field. @param nameOf the name of the group with
 * this id.
 */
export function differences(seen: Token, now: Token, nameOf = (groupId: string) => groupId): readonly string[] {
  return changedFields(seen, now, [
    ['Label', ({ label }) => label],
    ['Group', ({ groupId }) => (groupId === '' ? 'none' : nameOf(groupId))],
    ...termsRows,
    ['Note', ({ note }) => note || 'none'],
    ['Expires', ({ expiresAtMs }) => (expiresAtMs === undefined ? 'never' : formatMoment(expiresAtMs))],
    ['Revoked', ({ revokedAtMs }) => (revokedAtMs === undefined ? 'no' : 'yes')],
  ]);
}

function localText(ms: number): string {
  return new Date(ms - new Date(ms).getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
