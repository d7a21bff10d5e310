import { useQuery } from '@connectrpc/connect-query';
import { GroupService } from '@gateway/proto/admin/v1/group_service_pb.js';
import type { Group } from '@gateway/proto/identity/v1/identity_service_pb.js';

/** The groups, for a choice. None until they are known. */
export function useGroups(): readonly Group[] {
  const { data } = useQuery(GroupService.method.listGroups, {}, { staleTime: 60_000 });
  return (data?.groups ?? []).flatMap(({ group }) => (group === undefined ? [] : [group]));
}
