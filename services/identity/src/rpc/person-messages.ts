import type { MessageInitShape } from '@bufbuild/protobuf';
import type { DeviceGrantSchema, PersonSchema, SessionSchema } from '@gateway/proto/identity/v1/person_service_pb.js';
import type { DeviceGrant } from '../people/device-grants.ts';
import type { Person, PersonSession } from '../people/person-store.ts';

export function toGrantMessage(grant: DeviceGrant): MessageInitShape<typeof DeviceGrantSchema> {
  const { surface, client, address, created_at_ms, expires_at_ms } = grant;
  return {
    ...{ surface, client, address },
    createdAtMs: created_at_ms,
    expiresAtMs: expires_at_ms,
  };
}

export function toSessionMessage(session: PersonSession, expiresAtMs: number): MessageInitShape<typeof SessionSchema> {
  const { session_id, person_id, token_id, surface, client, address, created_at_ms, rotated_at_ms } = session;
  return {
    ...{ sessionId: session_id, personId: person_id, tokenId: token_id, surface, client, address },
    createdAtMs: created_at_ms,
    lastUsedAtMs: rotated_at_ms,
    expiresAtMs: expiresAtMs,
  };
}

export function toPersonMessage(
  person: Person,
  sessions: readonly MessageInitShape<typeof SessionSchema>[] = [],
  issuedTokens = 0,
): MessageInitShape<typeof PersonSchema> {
  const { person_id, email, name, subject, group_id, created_at_ms, last_seen_at_ms, disabled_at_ms } = person;
  const { tokens_until_ms } = person;
  return {
    ...{ personId: person_id, email, name, subject, groupId: group_id ?? '' },
    createdAtMs: created_at_ms,
    lastSeenAtMs: last_seen_at_ms,
    disabledAtMs: disabled_at_ms ?? undefined,
    tokensUntilMs: tokens_until_ms ?? undefined,
    sessions: [...sessions],
    issuedTokens,
  };
}
