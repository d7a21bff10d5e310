import type { DescService } from '@bufbuild/protobuf';
import type { SettingRead } from '@gateway/config';
import type { GatewayDatabase } from '@gateway/database';
import type { AdapterService } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { GroupService, IdentityService } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { PersonService } from '@gateway/proto/identity/v1/person_service_pb.js';
import { LimiterOperatorService, LimiterService } from '@gateway/proto/limiter/v2/limiter_service_pb.js';
import { ProviderFormat } from '@gateway/proto/pool/v1/account_pb.js';
import { PoolBrokerService, PoolOperatorService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { UsageLedgerService, UsageReportService } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { UsageQueryService } from '@gateway/proto/usage/v1/usage_service_pb.js';
import type { Client } from '@gateway/rpc';
import type { Logger } from '@gateway/telemetry';
import type { AuditTrail } from './access/audit-trail.ts';
import type { PersonRules } from './access/person-rules.ts';
import type { AlertSender } from './alerts/alert-sender.ts';

/** Clients of the other services, and the admin ports of all replicas. */
export interface AdminPeers extends Omit<ReturnType<typeof peersOf>, 'limiter'> {
  readonly limiter: Pick<Client<typeof LimiterService>, 'peek'>;
  /** Absent for a format: this process does not know the address of its adapter. */
  readonly adapters: ReadonlyMap<ProviderFormat, Pick<Client<typeof AdapterService>, 'probeAccount'>>;
  readonly replicas: ReplicaDirectory;
  /** The address of the public API, for the playground. Undefined: it is not known. */
  readonly edgeUrl: string | undefined;
}

/** The adapter of each format: its process, and the setting with its address. */
export const adapterProcesses: ReadonlyMap<ProviderFormat, { readonly name: string; readonly setting: string }> =
  new Map([
    [ProviderFormat.RESPONSES, { name: 'responses-adapter', setting: 'RESPONSES_ADAPTER_URL' }],
    [ProviderFormat.MESSAGES, { name: 'messages-adapter', setting: 'MESSAGES_ADAPTER_URL' }],
  ]);

/**
 * @param clientOf creates a client of a service in the process of that name. The transport is not
 * known here.
 */
export function peersOf(clientOf: <S extends DescService>(service: S, process: PeerName) => Client<S>) {
  return {
    identity: clientOf(IdentityService, 'identity'),
    people: clientOf(PersonService, 'identity'),
    groups: clientOf(GroupService, 'identity'),
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

/** Every process of the gateway, as it describes itself. */
export interface ReplicaDirectory {
  /**
   * Reads all replicas at once. A replica that does not answer in time is listed with its problem.
   */
  read(signal: AbortSignal): Promise<readonly ReplicaReading[]>;
  /** The settings of all replicas except this process. */
  settings(signal: AbortSignal): Promise<readonly ReplicaSettings[]>;
}

export interface ReplicaSettings extends Pick<ReplicaReading, 'service' | 'address'> {
  /** Undefined if the replica did not answer. */
  readonly settings: readonly SettingRead[] | undefined;
  readonly problem: string | undefined;
}

export interface ReplicaReading {
  /** "edge-router"; "gateway" if all services are one process. */
  readonly service: string;
  /** "10.0.0.7:9090" */
  readonly address: string;
  /** Its metrics in the text format of Prometheus. Undefined if it could not be read. */
  readonly metrics: string | undefined;
  /** Why it is not ready, or could not be read. Undefined if it is ready. */
  readonly problem: string | undefined;
  /**
   * When the metrics were requested and received, by this process's clock. Undefined for this
   * process.
   */
  readonly asked?: { readonly fromMs: number; readonly toMs: number };
}

/** The parts that every handler uses. */
export interface AdminParts {
  readonly peers: AdminPeers;
  readonly database: GatewayDatabase;
  /** Whether a setting names a group of tokens. Absent: none does. */
  readonly rules?: Pick<PersonRules, 'names'>;
  readonly audit: AuditTrail;
  readonly sender: AlertSender;
  readonly logger: Logger;
}
