import { Role } from '@gateway/proto/admin/v1/operator_service_pb.js';

/** Every role with what it may do, the least first. */
export const choosableRoles: readonly (readonly [Role, string])[] = [
  [Role.VIEWER, 'Viewer: sees everything but secrets, operators and the audit log'],
  [Role.OPERATOR, 'Operator: also changes tokens, accounts and the ledger'],
  [Role.ADMIN, 'Admin: also changes operators and sees the audit log'],
];
