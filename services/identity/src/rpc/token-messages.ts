import type { MessageInitShape } from '@bufbuild/protobuf';
import type { StoredTokenKind } from '@gateway/database';
import { GatewayError } from '@gateway/errors';
import { TokenKind, type TokenSchema } from '@gateway/proto/identity/v1/identity_service_pb.js';
import type { Group } from '../store/group-store.ts';
import type { Token, TokenPlace } from '../store/token-store.ts';
import { toAccessMessage, toAppliedGroup, toLimitsMessage } from './rule-messages.ts';

/** @param group of the token, if its caller needs it. */
export function toTokenMessage(token: Token, nowMs: number, group?: Group): MessageInitShape<typeof TokenSchema> {
  const oldUntilMs = Math.min(token.previous_until_ms ?? 0, token.expires_at_ms ?? Infinity);
  const isOldValid = token.revoked_at_ms === null && oldUntilMs > nowMs;
  return {
    tokenId: token.token_id,
    kind: token.kind === 'service' ? TokenKind.SERVICE : TokenKind.PERSONAL,
    label: token.label,
    limits: toLimitsMessage(token),
    access: toAccessMessage(token),
    groupId: token.group_id ?? '',
    group: group && toAppliedGroup(group),
    createdAtMs: token.created_at_ms,
    revokedAtMs: token.revoked_at_ms ?? undefined,
    expiresAtMs: token.expires_at_ms ?? undefined,
    note: token.note,
    revision: token.revision,
    oldTextValidUntilMs: isOldValid ? oldUntilMs : undefined,
  };
}

export function fromKindMessage(kind: TokenKind): StoredTokenKind {
  if (kind === TokenKind.SERVICE) return 'service';
  if (kind === TokenKind.PERSONAL) return 'personal';
  throw new GatewayError('invalid_request', 'kind must be service or personal.');
}

/** Encodes a place. Callers treat it as opaque. */
export function toPageToken({ created_at_ms, token_id }: TokenPlace): string {
  return `${created_at_ms}.${token_id}`;
}

/** Undefined for the first page. */
export function fromPageToken(text: string): TokenPlace | undefined {
  if (text === '') return undefined;
  const [, createdAtMs, token_id = ''] = /^(\d{1,15})\.([\w-]{1,100})$/.exec(text) ?? [];
  if (createdAtMs === undefined) throw new GatewayError('invalid_request', 'page_token belongs to another list.');
  return { created_at_ms: Number(createdAtMs), token_id };
}
