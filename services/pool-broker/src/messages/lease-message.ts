import { create } from '@bufbuild/protobuf';
import type { ModelTraits } from '@gateway/config';
import {
  type Lease as LeaseMessage,
  LeastThinking,
  type ModelTraits as ModelTraitsMessage,
  ModelTraitsSchema,
  ThinkingMode,
} from '@gateway/proto/pool/v1/account_pb.js';
import type { Candidate } from '../catalog/catalog.ts';
import { traitsOfModel } from '../catalog/catalog.ts';
import type { Lease } from '../leasing/lease-search.ts';
import { toProviderFormat } from './pool-format.ts';

export function toLeaseMessage({ leaseId, accountId, candidate }: Lease, leaseTtlMs: number): LeaseMessage {
  return { ...candidateMessageOf(candidate), leaseId, accountId, ttlSeconds: leaseTtlMs / 1_000 };
}

/** What the leases for a candidate have in common. Candidates stay the same until the catalog changes. */
function candidateMessageOf(candidate: Candidate): LeaseMessage {
  const known = candidateMessages.get(candidate);
  if (known !== undefined) return known;
  const message = toCandidateMessage(candidate);
  candidateMessages.set(candidate, message);
  return message;
}

const candidateMessages = new WeakMap<Candidate, LeaseMessage>();

function toCandidateMessage({ pool, model, defaultEffort }: Candidate): LeaseMessage {
  const traits = traitsOfModel(pool, model);
  // A whole message, named as such: it need not be completed from its fields.
  return {
    $typeName: 'gateway.pool.v1.Lease',
    leaseId: '',
    accountId: '',
    pool: pool.name,
    format: toProviderFormat(pool.format),
    provider: pool.ownedBy,
    model,
    defaultEffort,
    ttlSeconds: 0,
    ...(traits === undefined ? undefined : { traits: toTraitsMessage(traits) }),
  };
}

function toTraitsMessage(traits: ModelTraits): ModelTraitsMessage {
  const { efforts, thinking, leastThinking, ...others } = traits;
  return create(ModelTraitsSchema, {
    ...others,
    efforts: efforts === undefined ? undefined : { levels: [...efforts] },
    thinking: thinking === undefined ? ThinkingMode.UNSPECIFIED : thinkingModes[thinking],
    leastThinking: leastThinking === undefined ? LeastThinking.UNSPECIFIED : leastThinkings[leastThinking],
  });
}

const thinkingModes = { none: ThinkingMode.NONE, budget: ThinkingMode.BUDGET, adaptive: ThinkingMode.ADAPTIVE };

const leastThinkings = {
  disabled: LeastThinking.DISABLED,
  between_tools: LeastThinking.BETWEEN_TOOLS,
  low_effort: LeastThinking.LOW_EFFORT,
};
