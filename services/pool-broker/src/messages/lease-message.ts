import type { MessageInitShape } from '@bufbuild/protobuf';
import type { ModelTraits } from '@gateway/config';
import {
  type LeaseSchema,
  LeastThinking,
  type ModelTraitsSchema,
  ThinkingMode,
} from '@gateway/proto/pool/v1/account_pb.js';
import { traitsOfModel } from '../catalog/model-traits.ts';
import type { Lease } from '../leasing/acquire-lease.ts';
import { toProviderFormat } from './pool-format.ts';

export function toLeaseMessage({ leaseId, accountId, candidate }: Lease): MessageInitShape<typeof LeaseSchema> {
  const { pool, model, defaultEffort } = candidate;
  const traits = traitsOfModel(pool, model);
  return {
    leaseId,
    accountId,
    pool: pool.name,
    format: toProviderFormat(pool.format),
    provider: pool.ownedBy,
    model,
    defaultEffort,
    traits: traits === undefined ? undefined : toTraitsMessage(traits),
  };
}

function toTraitsMessage(traits: ModelTraits): MessageInitShape<typeof ModelTraitsSchema> {
  const { efforts, thinking, leastThinking, ...others } = traits;
  return {
    ...others,
    efforts: efforts === undefined ? undefined : { levels: [...efforts] },
    thinking: thinking === undefined ? ThinkingMode.UNSPECIFIED : thinkingModes[thinking],
    leastThinking: leastThinking === undefined ? LeastThinking.UNSPECIFIED : leastThinkings[leastThinking],
  };
}

const thinkingModes = { none: ThinkingMode.NONE, budget: ThinkingMode.BUDGET, adaptive: ThinkingMode.ADAPTIVE };

const leastThinkings = {
  disabled: LeastThinking.DISABLED,
  between_tools: LeastThinking.BETWEEN_TOOLS,
  low_effort: LeastThinking.LOW_EFFORT,
};
