import {
  Code,
  ConnectError,
  type ConnectRouter,
  createRouterTransport,
  type Interceptor,
  type Transport,
} from '@connectrpc/connect';
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
import { accountService } from './made-up/accounts.ts';
import { alertService } from './made-up/alerts.ts';
import { auditService } from './made-up/audit.ts';
import { configurationService } from './made-up/configuration.ts';
import { groupService } from './made-up/groups.ts';
import { myTokenService } from './made-up/my-tokens.ts';
import { operatorService } from './made-up/operators.ts';
import { personService } from './made-up/people.ts';
import { playgroundService } from './made-up/playground.ts';
import { poolService } from './made-up/pools.ts';
import { requestService } from './made-up/requests.ts';
import { hasSession, sessionService } from './made-up/session.ts';
import { systemService } from './made-up/system.ts';
import { tokenService } from './made-up/tokens.ts';
import { usageService } from './made-up/usage.ts';

/**
 * A gateway under traffic with several faults, only in the browser. One line and one file for each
 * service.
 */
export function madeUpGateway(): Transport {
  return createRouterTransport(services, { transport: { interceptors: [signedInOnly] } });
}

/** As in the gateway: all calls but signing in need a session. */
const signedInOnly: Interceptor = (next) => (request) => {
  if (request.service.typeName !== SessionService.typeName && !hasSession()) {
    throw new ConnectError('Sign in first.', Code.Unauthenticated);
  }
  return next(request);
};

function services(router: ConnectRouter): void {
  router.service(SessionService, sessionService);
  router.service(SystemService, systemService);
  router.service(PersonService, personService);
  router.service(MyTokenService, myTokenService);
  router.service(PlaygroundService, playgroundService);
  router.service(PoolService, poolService);
  router.service(AccountService, accountService);
  router.service(RequestService, requestService);
  router.service(TokenService, tokenService);
  router.service(GroupService, groupService);
  router.service(UsageService, usageService);
  router.service(AlertService, alertService);
  router.service(AuditService, auditService);
  router.service(OperatorService, operatorService);
  router.service(ConfigurationService, configurationService);
}
