import { GatewayError } from '@gateway/errors';
import type { GroupService } from '@gateway/proto/identity/v1/identity_service_pb.js';
import type { Handlers } from '@gateway/rpc';
import { epochMs } from '@gateway/time';
import { type GivenGroup, groupProblems } from '@gateway/tokens';
import type { ChangeFeed } from '../changes/change-feed.ts';
import type { GroupStore } from '../store/group-store.ts';
import { fromAccessMessage, fromGroupLimitsMessage, fromUnpricedMessage, toGroupMessage } from './rule-messages.ts';

export interface GroupParts {
  readonly groups: GroupStore;
  readonly changes: Pick<ChangeFeed, 'announce'>;
}

export function groupHandlers({ groups, changes }: GroupParts): Handlers<typeof GroupService> {
  return {
    async createGroup({ name: given, note, ...request }) {
      const limits = request.limits === undefined ? {} : fromGroupLimitsMessage(request.limits);
      const access = request.access === undefined ? everything : fromAccessMessage(request.access);
      const unpricedModels = fromUnpricedMessage(request.unpricedModels) ?? 'refuse';
      const group = { name: given.trim(), note: note.trim(), limits, access, unpricedModels };
      check({ ...group, name: given });
      if ((await groups.list(epochMs())).length >= maxGroups) {
        throw new GatewayError('invalid_request', `There are at most ${maxGroups} groups.`);
      }
      const added = await groups.add(group, epochMs());
      if (added === undefined) throw nameTaken(group.name);
      return { group: toGroupMessage(added) };
    },

    async listGroups() {
      return { groups: (await groups.list(epochMs())).map(toGroupMessage) };
    },

    /** Changes the given details. */
    async updateGroup({ groupId, name, note, expectedRevision, ...request }) {
      const limits = request.limits && fromGroupLimitsMessage(request.limits);
      const access = request.access && fromAccessMessage(request.access);
      const unpricedModels = fromUnpricedMessage(request.unpricedModels);
      if ([name, note, limits, access, unpricedModels].every((given) => given === undefined)) {
        throw new GatewayError('invalid_request', 'The request changes nothing.');
      }
      check({ name, note: note?.trim(), limits, access });
      const details = { name: name?.trim(), note: note?.trim(), limits, access, unpricedModels };
      const changed = await groups.update(groupId, details, expectedRevision);
      if (changed === undefined) throw noSuchGroup();
      if (changed === 'taken') throw nameTaken(details.name ?? '');
      if (changed !== 'conflict') {
        changes.announce();
        return { group: toGroupMessage(changed) };
      }
      const current = await groups.find(groupId);
      return { group: current && toGroupMessage(current), conflict: true };
    },

    async deleteGroup({ groupId }) {
      const group = await groups.delete(groupId, epochMs());
      if (group === undefined) return {};
      changes.announce();
      return { group: toGroupMessage(group) };
    },
  };
}

const maxGroups = 10_000;
const everything = { models: [], accountLabels: [] };

/** @throws GatewayError `invalid_request` that lists all problems. */
function check(group: GivenGroup): void {
  const problems = Object.entries(groupProblems(group)).map(([field, text]) => `${field} ${text}`);
  if (problems.length > 0) throw new GatewayError('invalid_request', problems.join(' '));
}

function noSuchGroup(): GatewayError {
  return new GatewayError('not_found', 'No group has this group_id.');
}

function nameTaken(name: string): GatewayError {
  return new GatewayError('invalid_request', `A group with the name ${name} exists already.`);
}
