import { Role } from '@gateway/proto/admin/v1/operator_service_pb.js';

export const roleNames: Readonly<Record<Role, string>> = {
  [Role.UNSPECIFIED]: 'Own usage',
  [Role.VIEWER]: 'Viewer',
  [Role.OPERATOR]: 'Operator',
  [Role.ADMIN]: 'Admin',
};
