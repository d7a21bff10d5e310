import type { ServiceImpl } from '@connectrpc/connect';
import type { PersonService } from '@gateway/proto/admin/v1/person_service_pb.js';
import type { AdminParts } from '../parts.ts';
import { peerCall } from '../peer-calls.ts';
import { invalidFields, notFound } from './problems.ts';

/** People who sign in from their client, and their sessions. */
export function personService({ peers, audit }: AdminParts): ServiceImpl<typeof PersonService> {
  const { people } = peers;
  return {
    async listPeople({ search, pageSize, pageToken }, { signal }) {
      if (pageSize > maxPageSize) throw invalidFields({ pageSize: `Must be at most ${maxPageSize}.` });
      const page = { search: search.trim(), pageSize: pageSize || 50, pageToken };
      const found = await people.listPeople(page, peerCall(signal));
      return { people: found.people, nextPageToken: found.nextPageToken };
    },

    async endSessions({ personId, sessionId }, context) {
      return await audit.change(context, { action: 'person.end_sessions', subject: personId }, async () => {
        const { sessions } = await people.endSessions({ personId, sessionId }, peerCall(context.signal));
        const after = { ended: sessions.map(({ sessionId: ended, surface, client }) => ({ ended, surface, client })) };
        return { answer: { sessions }, after };
      });
    },

    async setPersonDisabled({ personId, disabled }, context) {
      const action = disabled ? 'person.disable' : 'person.enable';
      return await audit.change(context, { action, subject: personId }, async () => {
        const { person } = await people.setPersonDisabled({ personId, disabled }, peerCall(context.signal));
        if (person === undefined) throw notFound(`person with the id "${personId}"`);
        return { answer: { person }, subject: person.email || person.name || personId };
      });
    },
  };
}

const maxPageSize = 1_000;
