import type { SettingRead } from '@gateway/config';
import type { GatewayDatabase } from '@gateway/database';
import type { IdentityService } from '@gateway/proto/identity/v1/identity_service_pb.js';
import type { LimiterOperatorService, LimiterService } from '@gateway/proto/limiter/v1/limiter_service_pb.js';
import type { PoolBrokerService, PoolOperatorService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import type { UsageLedgerService, UsageReportService } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import type { UsageQueryService } from '@gateway/proto/usage/v1/usage_service_pb.js';
import type { Client } from '@gateway/rpc';
import type { Logger } from '@gateway/telemetry';
import type { Clock } from '@gateway/time';
import type { AuditTrail } from './access/audit-trail.ts';

/** The services behind this one. How they are reached is not known here. */
export interface AdminPeers {
  readonly identity: Client<typeof IdentityService>;
  readonly broker: Client<typeof PoolBrokerService>;
  readonly poolOperator: Client<typeof PoolOperatorService>;
  readonly limiter: Pick<Client<typeof LimiterService>, 'peek'>;
  readonly limiterOperator: Client<typeof LimiterOperatorService>;
  readonly usageQuery: Client<typeof UsageQueryService>;
  readonly usageReport: Client<typeof UsageReportService>;
  readonly usageLedger: Client<typeof UsageLedgerService>;
  /** Where the replicas of every service tell how they are. */
  readonly replicas: ReplicaDirectory;
}

/** Every process of the gateway, with what it says of itself. */
export interface ReplicaDirectory {
  /** Asks all replicas at once; one that does not answer in time is listed with its problem. */
  read(signal: AbortSignal): Promise<readonly ReplicaReading[]>;
  /** What they run with, those of this process excepted. */
  settings(signal: AbortSignal): Promise<readonly ReplicaSettings[]>;
}

export interface ReplicaSettings extends Pick<ReplicaReading, 'service' | 'address'> {
  /** Undefined: it did not say. */
  readonly settings: readonly SettingRead[] | undefined;
  readonly problem: string | undefined;
}

export interface ReplicaReading {
  /** "edge-router"; "gateway" where all is one process. */
  readonly service: string;
  /** "10.0.0.7:9090" */
  readonly address: string;
  /** Its metrics in the text format of Prometheus. Undefined: it could not be asked. */
  readonly metrics: string | undefined;
  /** Why it takes no requests, or could not be asked. Undefined: it is ready. */
  readonly problem: string | undefined;
  /** By this process's clock, when the metrics were asked for and there. Undefined: it is this process. */
  readonly asked?: { readonly fromMs: number; readonly toMs: number };
}

/** What every handler works with. */
export interface AdminParts {
  readonly peers: AdminPeers;
  readonly database: GatewayDatabase;
  readonly audit: AuditTrail;
  readonly clock: Clock;
  readonly logger: Logger;
}
