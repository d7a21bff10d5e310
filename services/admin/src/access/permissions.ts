import type { DescMethod, DescService } from '@bufbuild/protobuf';
import { AccountService } from '@gateway/proto/admin/v1/account_service_pb.js';
import { AlertService } from '@gateway/proto/admin/v1/alert_service_pb.js';
import { AuditService } from '@gateway/proto/admin/v1/audit_service_pb.js';
import { ConfigurationService } from '@gateway/proto/admin/v1/configuration_service_pb.js';
import { GroupService } from '@gateway/proto/admin/v1/group_service_pb.js';
import { MyTokenService } from '@gateway/proto/admin/v1/my_token_service_pb.js';
import { OperatorService, Role } from '@gateway/proto/admin/v1/operator_service_pb.js';
import { PersonService } from '@gateway/proto/admin/v1/person_service_pb.js';
import { PlaygroundService } from '@gateway/proto/admin/v1/playground_service_pb.js';
import { PoolService } from '@gateway/proto/admin/v1/pool_service_pb.js';
import { RequestService } from '@gateway/proto/admin/v1/request_service_pb.js';
import { SessionService } from '@gateway/proto/admin/v1/session_service_pb.js';
import { SystemService } from '@gateway/proto/admin/v1/system_service_pb.js';
import { TokenService } from '@gateway/proto/admin/v1/token_service_pb.js';
import { UsageService } from '@gateway/proto/admin/v1/usage_service_pb.js';
import type { Caller } from './caller.ts';

/**
 * The callers of a method. `open` is for everyone. `signed in` is for all signed-in callers,
 * including holders of a caller's token. `person` is for people who signed in without a role. A
 * role is for operators who have it or a higher one.
 */
export type Permission = 'open' | 'signed in' | 'person' | Role.VIEWER | Role.OPERATOR | Role.ADMIN;

const { VIEWER, OPERATOR, ADMIN } = Role;

/** One line for each method: without it, this does not compile. */
const permissions: ReadonlyMap<DescMethod, Permission> = new Map([
  ...of(SessionService, {
    getSignInOptions: 'open',
    signIn: 'open',
    signOut: 'signed in',
    getSession: 'signed in',
  }),
  ...of(OperatorService, {
    listOperators: ADMIN,
    createOperator: ADMIN,
    updateOperator: ADMIN,
    rotateOperatorToken: ADMIN,
  }),
  ...of(AuditService, {
    listAudit: ADMIN,
  }),
  ...of(AlertService, {
    listAlerts: VIEWER,
    testAlert: ADMIN,
  }),
  ...of(TokenService, {
    listTokens: VIEWER,
    getToken: VIEWER,
    issueToken: OPERATOR,
    updateToken: OPERATOR,
    rotateToken: OPERATOR,
    revokeToken: OPERATOR,
  }),
  ...of(GroupService, {
    listGroups: VIEWER,
    getGroup: VIEWER,
    createGroup: OPERATOR,
    updateGroup: OPERATOR,
    deleteGroup: OPERATOR,
  }),
  ...of(AccountService, {
    addAccount: OPERATOR,
    replaceCredential: OPERATOR,
    setAccountState: OPERATOR,
    setAccountLabels: OPERATOR,
    removeAccount: OPERATOR,
    probeAccounts: OPERATOR,
  }),
  ...of(PersonService, {
    listPeople: VIEWER,
    endSessions: OPERATOR,
    setPersonDisabled: OPERATOR,
  }),
  ...of(MyTokenService, {
    listMyTokens: 'person',
    issueMyToken: 'person',
    rotateMyToken: 'person',
    revokeMyToken: 'person',
  }),
  ...of(PlaygroundService, {
    relay: 'signed in',
  }),
  ...of(PoolService, {
    listPools: VIEWER,
    watchPools: VIEWER,
    explainModel: VIEWER,
  }),
  ...of(RequestService, {
    listRequests: VIEWER,
    getRequest: VIEWER,
    watchRequests: VIEWER,
  }),
  ...of(UsageService, {
    reportUsage: VIEWER,
    getMyUsage: 'signed in',
    reconcileDay: OPERATOR,
    replayDeadLetters: OPERATOR,
  }),
  ...of(ConfigurationService, {
    getConfiguration: VIEWER,
    checkConfiguration: ADMIN,
  }),
  ...of(SystemService, {
    getOverview: VIEWER,
    watchOverview: VIEWER,
    listReplicas: VIEWER,
  }),
]);

/** The permission that a call requires. If undefined, no caller may make it. */
export function permissionOf(method: DescMethod): Permission | undefined {
  return permissions.get(method);
}

export function mayCall(caller: Caller, permission: Permission): boolean {
  if (permission === 'open' || permission === 'signed in') return true;
  if (permission === 'person') return caller.kind === 'person';
  // Roles are numbered in their order.
  return caller.kind === 'operator' && caller.role >= permission;
}

function of<S extends DescService>(
  { method }: S,
  lines: { readonly [M in keyof S['method']]: Permission },
): readonly (readonly [DescMethod, Permission])[] {
  return Object.entries<Permission>(lines).map(([name, permission]) => [method[name] as DescMethod, permission]);
}
