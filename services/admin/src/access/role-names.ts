import type { StoredRole } from '@gateway/database';
import { Role } from '@gateway/proto/admin/v1/operator_service_pb.js';

/** Each role includes the one before it. */
export const roleNames = ['viewer', 'operator', 'admin'] as const satisfies readonly StoredRole[];

export const rolesByName = {
  viewer: Role.VIEWER,
  operator: Role.OPERATOR,
  admin: Role.ADMIN,
} as const satisfies Record<StoredRole, Role>;

/** Undefined for an unspecified role. */
export function roleNameOf(role: Role): StoredRole | undefined {
  return roleNames.find((name) => rolesByName[name] === role);
}
