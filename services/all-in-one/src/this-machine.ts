import type { OperatorCaller } from '@gateway/admin/access/caller';
import { Role } from '@gateway/proto/admin/v1/operator_service_pb.js';

/**
 * The caller of what gatewayctl does directly in the database. Access to the database is access to
 * everything: the machine itself makes the calls, and the audit log names it.
 */
export const thisMachine: OperatorCaller = {
  kind: 'operator',
  operatorId: '',
  name: 'gatewayctl',
  role: Role.ADMIN,
  address: '',
};
