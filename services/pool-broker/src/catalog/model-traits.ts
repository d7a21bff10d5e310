import type { PoolConfig } from '@gateway/config';
import { matchesAnyPattern } from '@gateway/presentation/model-pattern';
import { LeastThinking, ThinkingMode } from '@gateway/proto/pool/v1/account_pb.js';

/** The configured traits of a pool's model: the first matching pattern applies. */
export function traitsOfModel({ modelTraits }: PoolConfig, model: string) {
  const traits = modelTraits.find(({ pattern }) => matchesAnyPattern(model, [pattern]))?.traits;
  if (traits === undefined) return undefined;
  const { efforts, thinking, leastThinking, ...others } = traits;
  return {
    ...others,
    efforts: efforts && { levels: [...efforts] },
    ...(thinking && { thinking: thinkingModes[thinking] }),
    ...(leastThinking && { leastThinking: leastThinkings[leastThinking] }),
  };
}

const thinkingModes = { none: ThinkingMode.NONE, budget: ThinkingMode.BUDGET, adaptive: ThinkingMode.ADAPTIVE };

const leastThinkings = {
  disabled: LeastThinking.DISABLED,
  between_tools: LeastThinking.BETWEEN_TOOLS,
  low_effort: LeastThinking.LOW_EFFORT,
};
