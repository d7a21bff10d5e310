import { create } from '@bufbuild/protobuf';
import type { ModelTraits } from '@gateway/config';
import {
  type Lease as LeaseMessage,
  LeastThinking,
  type ModelTraits as ModelTraitsMessage,
  ModelTraitsSchema,
  ThinkingMode,
} from '@gateway/proto/pool/v1/account_pb.js';
import { traitsOfModel } from '../catalog/model-traits.ts';
import type { Lease } from '../leasing/acquire-lease.ts';
import { toProviderFormat } from './pool-format.ts';

export function toLeaseMessage({ leaseId, accountId, candidate }: Lease): LeaseMessage {
  const { pool, model, defaultEffort } = candidate;
  const traits = traitsOfModel(pool, model);
  // A whole message, named as such: it need not be completed from its fields.
  return {
    $typeName: 'gateway.pool.v1.Lease',
    leaseId,
    accountId,
    pool: pool.name,
    format: toProviderFormat(pool.format),
    provider: pool.ownedBy,
    model,
    defaultEffort,
    ...(traits === undefined ? undefined : { traits: traitsMessageOf(traits) }),
  };
}

/** Traits are the configuration's, so there are few of them. */
function traitsMessageOf(traits: ModelTraits): ModelTraitsMessage {
  const known = traitsMessages.get(traits);
  if (known !== undefined) return known;
  const message = toTraitsMessage(traits);
  traitsMessages.set(traits, message);
  return message;
}

const traitsMessages = new WeakMap<ModelTraits, ModelTraitsMessage>();

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
