import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { DeviceGrantSchema, PersonSchema, SessionSchema } from '@gateway/proto/identity/v1/person_service_pb.js';
import type { DeviceGrant } from '../people/device-grants.ts';
import type { Person, PersonSession } from '../people/person-store.ts';

export function toGrantMessage(grant: DeviceGrant): MessageInitShape<typeof DeviceGrantSchema> {
  const { surface, client, address, created_at_ms, expires_at_ms } = grant;
  return {
    ...{ surface, client, address },
    createdAt: timestampFromMs(created_at_ms),
    expiresAt: timestampFromMs(expires_at_ms),
  };
}

export function toSessionMessage(session: PersonSession, expiresAtMs: number): MessageInitShape<typeof SessionSchema> {
  const { session_id, person_id, token_id, surface, client, address, created_at_ms, rotated_at_ms } = session;
  return {
    ...{ sessionId: session_id, personId: person_id, tokenId: token_id, surface, client, address },
    createdAt: timestampFromMs(created_at_ms),
    lastUsedAt: timestampFromMs(rotated_at_ms),
    expiresAt: timestampFromMs(expiresAtMs),
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
    createdAt: timestampFromMs(created_at_ms),
    lastSeenAt: timestampFromMs(last_seen_at_ms),
    disabledAt: disabled_at_ms === null ? undefined : timestampFromMs(disabled_at_ms),
    tokensUntil: tokens_until_ms === null ? undefined : timestampFromMs(tokens_until_ms),
    sessions: [...sessions],
    issuedTokens,
  };
}
