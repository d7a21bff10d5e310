import { create } from '@bufbuild/protobuf';
import type { ServiceImpl } from '@connectrpc/connect';
import type { PersonService } from '@gateway/proto/admin/v1/person_service_pb.js';
import { type Person, PersonSchema, SessionSchema } from '@gateway/proto/identity/v1/person_service_pb.js';

const hourMs = 3_600_000;

const people: Person[] = [
  person('dana@example.nl', 'Dana de Vries', 0.2, ['claude-code/2.1.332', 'gatewayctl']),
  person('erin@example.nl', 'Erin Bakker', 7, ['claude-code/2.1.310']),
  person('finn@example.nl', 'Finn Jansen', 300, [], true),
];

export const personService: Partial<ServiceImpl<typeof PersonService>> = {
  listPeople: ({ search }) => ({
    people: people.filter(({ email, name }) => `${email} ${name}`.toLowerCase().includes(search.toLowerCase())),
  }),
  endSessions({ personId }) {
    const found = find(personId);
    const ended = found.sessions;
    found.sessions = [];
    return { sessions: ended };
  },
  setPersonDisabled({ personId, disabled }) {
    const found = find(personId);
    found.disabledAtMs = disabled ? Date.now() : undefined;
    if (disabled) found.sessions = [];
    return { person: found };
  },
};

function find(personId: string): Person {
  const found = people.find((each) => each.personId === personId);
  if (found === undefined) throw new Error(`no person ${personId}`);
  return found;
}

function person(email: string, name: string, seenHoursAgo: number, clients: readonly string[], disabled = false) {
  const seenAt = Date.now() - seenHoursAgo * hourMs;
  const sessions = clients.map((client, n) =>
    create(SessionSchema, {
      ...{ sessionId: `${email}-${n}`, tokenId: `${email}-${n}`, client, address: `10.0.0.${7 + n}` },
      ...{ lastUsedAtMs: seenAt, expiresAtMs: Date.now() + 300 * hourMs },
    }),
  );
  return create(PersonSchema, {
    ...{ personId: email, email, name, sessions, lastSeenAtMs: seenAt },
    disabledAtMs: disabled ? seenAt : undefined,
  });
}
