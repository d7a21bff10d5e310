import type { MessageInitShape } from '@bufbuild/protobuf';
import type { LeaseSchema } from '@gateway/proto/pool/v1/account_pb.js';
import type { Lease } from '../leasing/acquire-lease.ts';
import { toProviderFormat } from './pool-format.ts';

export function toLeaseMessage({ leaseId, accountId, candidate }: Lease): MessageInitShape<typeof LeaseSchema> {
  const { pool, model, defaultEffort } = candidate;
  return {
    leaseId,
    accountId,
    pool: pool.name,
    format: toProviderFormat(pool.format),
    provider: pool.ownedBy,
    model,
    defaultEffort,
  };
}
