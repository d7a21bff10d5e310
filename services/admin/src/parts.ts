import type { DescService } from '@bufbuild/protobuf';
import type { SettingRead } from '@gateway/config';
import type { GatewayDatabase } from '@gateway/database';
import { IdentityService } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { LimiterOperatorService, LimiterService } from '@gateway/proto/limiter/v1/limiter_service_pb.js';
import { PoolBrokerService, PoolOperatorService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { UsageLedgerService, UsageReportService } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { UsageQueryService } from '@gateway/proto/usage/v1/usage_service_pb.js';
import type { Client } from '@gateway/rpc';
import type { Logger } from '@gateway/telemetry';
import type { Clock } from '@gateway/time';
import type { AuditTrail } from './access/audit-trail.ts';

/** The services behind this one, and where the replicas of every service tell how they are. */
export interface AdminPeers extends Omit<ReturnType<typeof peersOf>, 'limiter'> {
  readonly limiter: Pick<Client<typeof LimiterService>, 'peek'>;
  readonly replicas: ReplicaDirectory;
}

/** @param clientOf a client of a service, which the process of that name serves. How it is reached is not known here. */
export function peersOf(clientOf: <S extends DescService>(service: S, process: PeerName) => Client<S>) {
  return {
    identity: clientOf(IdentityService, 'identity'),
    broker: clientOf(PoolBrokerService, 'pool-broker'),
    poolOperator: clientOf(PoolOperatorService, 'pool-broker'),
    limiter: clientOf(LimiterService, 'limiter'),
    limiterOperator: clientOf(LimiterOperatorService, 'limiter'),
    usageQuery: clientOf(UsageQueryService, 'usage-query'),
    usageReport: clientOf(UsageReportService, 'usage-query'),
    usageLedger: clientOf(UsageLedgerService, 'usage-ingest'),
  } as const;
}

export type PeerName = 'identity' | 'pool-broker' | 'limiter' | 'usage-query' | 'usage-ingest';

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
