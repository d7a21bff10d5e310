import type { DescMessage, DescService } from '@bufbuild/protobuf';
import { AdapterService } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { ErrorDetailSchema } from '@gateway/proto/error/v1/error_detail_pb.js';
import { IdentityService } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { LimiterOperatorService, LimiterService } from '@gateway/proto/limiter/v1/limiter_service_pb.js';
import { CredentialService, PoolBrokerService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { MultiplexService } from '@gateway/proto/rpc/v1/multiplex_service_pb.js';
import { UsageLedgerService, UsageReportService } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { UsageIngestService, UsageQueryService } from '@gateway/proto/usage/v1/usage_service_pb.js';

const services: readonly DescService[] = [
  AdapterService,
  CredentialService,
  IdentityService,
  LimiterOperatorService,
  LimiterService,
  MultiplexService,
  PoolBrokerService,
  UsageIngestService,
  UsageLedgerService,
  UsageQueryService,
  UsageReportService,
];
const contracts = services.flatMap(({ methods }) => methods.flatMap(({ input, output }) => [input, output]));

/** Of every message that an RPC takes or gives. */
export const schemas: readonly DescMessage[] = [...new Set([...contracts, ErrorDetailSchema])];
