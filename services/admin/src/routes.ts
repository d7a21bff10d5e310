import type { ConnectRouter } from '@connectrpc/connect';
import { AccountService } from '@gateway/proto/admin/v1/account_service_pb.js';
import { AlertService } from '@gateway/proto/admin/v1/alert_service_pb.js';
import { AuditService } from '@gateway/proto/admin/v1/audit_service_pb.js';
import { ConfigurationService } from '@gateway/proto/admin/v1/configuration_service_pb.js';
import { GroupService } from '@gateway/proto/admin/v1/group_service_pb.js';
import { MyTokenService } from '@gateway/proto/admin/v1/my_token_service_pb.js';
import { OperatorService } from '@gateway/proto/admin/v1/operator_service_pb.js';
import { PersonService } from '@gateway/proto/admin/v1/person_service_pb.js';
import { PlaygroundService } from '@gateway/proto/admin/v1/playground_service_pb.js';
import { PoolService } from '@gateway/proto/admin/v1/pool_service_pb.js';
import { RequestService } from '@gateway/proto/admin/v1/request_service_pb.js';
import { SessionService } from '@gateway/proto/admin/v1/session_service_pb.js';
import { SystemService } from '@gateway/proto/admin/v1/system_service_pb.js';
import { TokenService } from '@gateway/proto/admin/v1/token_service_pb.js';
import { UsageService } from '@gateway/proto/admin/v1/usage_service_pb.js';
import type { OperatorStore } from './access/operators.ts';
import type { FigureReader } from './figures/figure-reader.ts';
import type { AdminParts } from './parts.ts';
import type { EdgeRelay } from './playground/edge-relay.ts';
import { accountService } from './rpc/account-service.ts';
import { alertService } from './rpc/alert-service.ts';
import { auditService } from './rpc/audit-service.ts';
import { configurationService } from './rpc/configuration-service.ts';
import { groupService } from './rpc/group-service.ts';
import { myTokenService } from './rpc/my-token-service.ts';
import { operatorService } from './rpc/operator-service.ts';
import { personService } from './rpc/person-service.ts';
import { playgroundService } from './rpc/playground-service.ts';
import { poolService } from './rpc/pool-service.ts';
import { requestService } from './rpc/request-service.ts';
import { type SessionParts, sessionService } from './rpc/session-service.ts';
import { systemService } from './rpc/system-service.ts';
import { tokenService } from './rpc/token-service.ts';
import { usageService } from './rpc/usage-service.ts';

/** Every RPC of `gateway.admin.v1` that requires a session or a token. */
export function adminRoutes(parts: AdminParts, operators: OperatorStore, figures: FigureReader, relay: EdgeRelay) {
  return (router: ConnectRouter): void => {
    operationRoutes(parts, operators)(router);
    router.service(SystemService, systemService(figures));
    router.service(PlaygroundService, playgroundService(relay));
  };
}

/** The RPCs of the service that begins sessions. */
export function sessionRoutes(access: SessionParts) {
  return (router: ConnectRouter): void => {
    router.service(SessionService, sessionService(access));
  };
}

/** The services that need only the database, and no running gateway. */
export function operationRoutes(parts: AdminParts, operators: OperatorStore) {
  return (router: ConnectRouter): void => {
    router.service(TokenService, tokenService(parts));
    router.service(GroupService, groupService(parts));
    router.service(PersonService, personService(parts));
    router.service(MyTokenService, myTokenService(parts));
    router.service(AccountService, accountService(parts));
    router.service(PoolService, poolService(parts));
    router.service(ConfigurationService, configurationService(parts));
    router.service(RequestService, requestService(parts));
    router.service(UsageService, usageService(parts));
    router.service(OperatorService, operatorService(parts, operators));
    router.service(AuditService, auditService(parts));
    router.service(AlertService, alertService(parts));
  };
}
