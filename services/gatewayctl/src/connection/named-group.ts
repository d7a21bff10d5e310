import { GroupService } from '@gateway/proto/admin/v1/group_service_pb.js';
import type { AdminConnection } from './admin-connection.ts';
import { notFoundToUndefined } from './not-found.ts';

/** The one group with this id, this beginning of an id, or this name. */
export async function findGroup(admin: AdminConnection, named: string) {
  const found = await admin.clientOf(GroupService).getGroup({ group: named }).catch(notFoundToUndefined);
  if (found?.group === undefined) throw new Error(`no group ${named}. Run gatewayctl group list to see all groups.`);
  return { group: found.group, currency: found.currency };
}

/** The id of a group; an empty one for "none". */
export async function findGroupId(admin: AdminConnection, named: string): Promise<string> {
  return named === 'none' ? '' : ((await findGroup(admin, named)).group.group?.groupId ?? '');
}
