import type { MessageInitShape } from '@bufbuild/protobuf';
import { GroupService } from '@gateway/proto/identity/v1/identity_service_pb.js';
import {
  type DeviceGrantSchema,
  type PersonClaims,
  type PersonSchema,
  PersonService,
} from '@gateway/proto/identity/v1/person_service_pb.js';
import { directClient, serviceRoute } from '@gateway/rpc';

/** A fake identity service with device grants, and what was decided about them. */
export function fakePeople() {
  const grants = new Map<string, MessageInitShape<typeof DeviceGrantSchema>>();
  const decisions: { userCode: string; person: PersonClaims | undefined }[] = [];
  const ended: { readonly personId: string; readonly withTokens: boolean; readonly suspendTokens: boolean }[] = [];
  const disabledPeople = new Set<string>();
  /** The groups of tokens, by their ids. */
  const groupNames = new Map([['group-1', 'team-a']]);
  const known = new Map<string, MessageInitShape<typeof PersonSchema>>();
  const personWith = (id: string) => {
    const person = known.get(id);
    return person && { ...person, disabledAtMs: disabledPeople.has(id) ? 1 : undefined };
  };
  const record = ({ subject, email, name, groupId, notLookedUp }: PersonClaims) => {
    const { sessions = [{ sessionId: `session of ${subject}` }], issuedTokens = 0 } = known.get(subject) ?? {};
    const tokensUntilMs = notLookedUp ? 1 : undefined;
    known.set(subject, {
      ...{ personId: subject, subject, email, name, groupId, sessions, issuedTokens },
      ...(tokensUntilMs && { tokensUntilMs }),
    });
    return personWith(subject);
  };
  const people = directClient(
    serviceRoute(PersonService, {
      findDeviceGrant: ({ userCode }) => ({ grant: grants.get(userCode) }),
      decideDeviceGrant: ({ userCode, person }) => {
        const grant = grants.get(userCode);
        if (grant === undefined) return {};
        grants.delete(userCode);
        const personIsDisabled = disabledPeople.has(person?.subject ?? '');
        decisions.push({ userCode, person: personIsDisabled ? undefined : person });
        if (person === undefined || personIsDisabled) return { grant, personIsDisabled };
        return { grant, person: record(person) };
      },
      recordPerson: ({ person }) => ({ person: person && record(person) }),
      getPerson: ({ personId }) => ({ person: personWith(personId) }),
      listPersonTokens: () => ({}),
      issuePersonToken: () => ({}),
      rotatePersonToken: () => ({}),
      revokePersonToken: () => ({}),
      listPeople: () => ({}),
      endSessions: ({ personId, withTokens, suspendTokens }) => {
        const sessions = known.get(personId)?.sessions ?? [];
        ended.push({ personId, withTokens, suspendTokens });
        known.set(personId, { ...known.get(personId), sessions: [] });
        return { sessions };
      },
      setPersonDisabled: () => ({}),
    }),
  );
  const groups = directClient(
    serviceRoute(GroupService, {
      createGroup: () => ({}),
      listGroups: () => ({ groups: [...groupNames].map(([groupId, name]) => ({ groupId, name })) }),
      updateGroup: () => ({}),
      deleteGroup: () => ({}),
    }),
  );
  return { people, groups, grants, decisions, ended, known, disabledPeople, groupNames };
}
