import type { MessageInitShape } from '@bufbuild/protobuf';
import { GroupService } from '@gateway/proto/identity/v1/identity_service_pb.js';
import {
  type DeviceGrantSchema,
  type PersonClaims,
  PersonService,
} from '@gateway/proto/identity/v1/person_service_pb.js';
import { directClient, serviceRoute } from '@gateway/rpc';

/** A fake identity service with device grants, and what was decided about them. */
export function fakePeople() {
  const grants = new Map<string, MessageInitShape<typeof DeviceGrantSchema>>();
  const decisions: { userCode: string; person: PersonClaims | undefined }[] = [];
  const disabledPeople = new Set<string>();
  const people = directClient(
    serviceRoute(PersonService, {
      findDeviceGrant: ({ userCode }) => ({ grant: grants.get(userCode) }),
      decideDeviceGrant: ({ userCode, person }) => {
        const grant = grants.get(userCode);
        if (grant === undefined) return {};
        grants.delete(userCode);
        const personIsDisabled = disabledPeople.has(person?.subject ?? '');
        decisions.push({ userCode, person: personIsDisabled ? undefined : person });
        return { grant, personIsDisabled };
      },
      recordPerson: () => ({}),
      listPeople: () => ({}),
      endSessions: () => ({}),
      setPersonDisabled: () => ({}),
    }),
  );
  const groups = directClient(
    serviceRoute(GroupService, {
      createGroup: () => ({}),
      listGroups: () => ({ groups: [{ groupId: 'group-1', name: 'team-a' }] }),
      updateGroup: () => ({}),
      deleteGroup: () => ({}),
    }),
  );
  return { people, groups, grants, decisions, disabledPeople };
}
