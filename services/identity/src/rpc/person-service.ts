import { GatewayError } from '@gateway/errors';
import type { PersonClaims, PersonService } from '@gateway/proto/identity/v1/person_service_pb.js';
import type { Handlers } from '@gateway/rpc';
import { epochMs } from '@gateway/time';
import { tokenSha256 } from '@gateway/tokens';
import type { SessionLimits } from '../config.ts';
import { hashWith } from '../hashing/hash-key.ts';
import type { DeviceGrants } from '../people/device-grants.ts';
import type { Person, PersonPlace, PersonSession, PersonStore } from '../people/person-store.ts';
import { normalUserCode } from '../people/user-code.ts';
import { toGrantMessage, toPersonMessage, toSessionMessage } from './person-messages.ts';
import { type PersonTokenParts, personTokenHandlers } from './person-tokens.ts';
import { expiryOf, visible } from './sign-in-service.ts';

export interface PersonParts extends PersonTokenParts {
  readonly people: PersonStore;
  readonly grants: DeviceGrants;
  readonly limits: SessionLimits;
}

export function personHandlers(parts: PersonParts): Handlers<typeof PersonService> {
  const { people, grants, personTokens, hashKeys, limits, changes } = parts;
  const hashesOf = (userCode: string) => hashKeys.map((key) => hashWith(key, tokenSha256(normalUserCode(userCode))));
  const sessionMessage = (session: PersonSession) => toSessionMessage(session, expiryOf(session, limits));
  const openSessions = async (of: readonly Person[]) => {
    const sessions = await people.sessionsOf(of.map(({ person_id }) => person_id));
    return sessions.filter((session) => epochMs() < expiryOf(session, limits));
  };
  const record = async (claims: PersonClaims) => {
    const nowMs = epochMs();
    const tokens_until_ms = claims.notLookedUp ? nowMs + limits.idleMs : null;
    const person = await people.record({ ...detailsOf(claims), tokens_until_ms }, nowMs);
    if (person === undefined) throw new GatewayError('invalid_request', 'group_id belongs to no group.');
    // The person may have moved to another group, with all tokens.
    changes.announce();
    return person;
  };
  return {
    ...personTokenHandlers(parts),

    async findDeviceGrant({ userCode }) {
      const grant = await grants.findPending(hashesOf(userCode), epochMs());
      return grant === undefined ? {} : { grant: toGrantMessage(grant) };
    },

    async decideDeviceGrant({ userCode, person: claims }) {
      const person = claims && (await record(claims));
      const isDisabled = person !== undefined && person.disabled_at_ms !== null;
      const approvedBy = isDisabled ? null : (person?.person_id ?? null);
      const grant = await grants.decide(hashesOf(userCode), approvedBy, epochMs());
      return {
        grant: grant && toGrantMessage(grant),
        person: person && toPersonMessage(person),
        personIsDisabled: isDisabled,
      };
    },

    async recordPerson({ person }) {
      if (person === undefined) throw new GatewayError('invalid_request', 'person is missing.');
      return { person: toPersonMessage(await record(person)) };
    },

    async getPerson({ personId, withSessions }) {
      const person = await people.find(personId);
      if (person === undefined) return {};
      if (!withSessions) return { person: toPersonMessage(person) };
      const [sessions, issued] = await Promise.all([openSessions([person]), personTokens.list(personId, epochMs())]);
      return { person: toPersonMessage(person, sessions.map(sessionMessage), issued.length) };
    },

    async listPeople({ search, pageSize, pageToken }) {
      const size = pageSize === 0 ? maxPeople : Math.min(pageSize, maxPeople);
      // One extra row shows whether there is another page.
      const found = await people.list(search.replaceAll('\0', '').slice(0, 200), size + 1, fromPageToken(pageToken));
      const page = found.slice(0, size);
      const ofPerson = Map.groupBy(await openSessions(page), ({ person_id }) => person_id);
      const last = page.at(-1);
      return {
        people: page.map((person) =>
          toPersonMessage(person, (ofPerson.get(person.person_id) ?? []).map(sessionMessage)),
        ),
        nextPageToken: last !== undefined && found.length > size ? `${last.last_seen_at_ms}.${last.person_id}` : '',
      };
    },

    async endSessions({ personId, sessionId, withTokens, suspendTokens }) {
      const sessionOnly = sessionId === '' ? undefined : sessionId;
      const ended = await people.endSessions(personId, sessionOnly, epochMs(), {
        withTokens,
        suspendTokens,
      });
      changes.announce();
      return { sessions: ended.map(sessionMessage) };
    },

    async setPersonDisabled({ personId, disabled }) {
      const person = await people.setDisabled(personId, disabled, epochMs());
      changes.announce();
      return person === undefined ? {} : { person: toPersonMessage(person) };
    },
  };
}

const maxPeople = 1_000;

/** @throws GatewayError `invalid_request` without the names that identify a person. */
function detailsOf({ issuer, subject, email, name, groupId }: PersonClaims) {
  const isKnown = [issuer, subject].every((text) => text !== '' && text.length <= 500 && !text.includes('\0'));
  if (!isKnown) throw new GatewayError('invalid_request', 'issuer and subject must have 1 to 500 characters.');
  return {
    ...{ issuer, subject, email: visible(email, 200), name: visible(name, 100) },
    group_id: groupId === '' ? null : groupId,
  };
}

function fromPageToken(text: string): PersonPlace | undefined {
  if (text === '') return undefined;
  const [, seenAtMs, person_id = ''] = /^(\d{1,15})\.([\w-]{1,100})$/.exec(text) ?? [];
  if (seenAtMs === undefined) throw new GatewayError('invalid_request', 'page_token belongs to another list.');
  return { last_seen_at_ms: Number(seenAtMs), person_id };
}
