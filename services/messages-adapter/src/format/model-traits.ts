import { LeastThinking, type ModelTraits, ThinkingMode as ThinkingTrait } from '@gateway/proto/pool/v1/account_pb.js';
import type { EffortLevel } from './messages-request.ts';
import type { ModelFamily, ThinkingMode } from './model-families.ts';

/** A family with what the configuration says of one of its models; what is not said stays. */
export function withTraits(family: ModelFamily, traits: ModelTraits | undefined): ModelFamily {
  if (traits === undefined) return family;
  return {
    maxOutputTokens: traits.maxOutputTokens ?? family.maxOutputTokens,
    thinking: thinkingWith(traits, family.thinking),
    effortLevels: traits.efforts === undefined ? family.effortLevels : levelsAmong(traits.efforts.levels),
    forcedToolChoice: traits.forcedToolChoice ?? family.forcedToolChoice,
    structuredOutput: traits.structuredOutput ?? family.structuredOutput,
  };
}

function thinkingWith(traits: ModelTraits, known: ThinkingMode): ThinkingMode {
  switch (traits.thinking) {
    case ThinkingTrait.NONE:
      return { kind: 'none' };
    case ThinkingTrait.BUDGET:
      return { kind: 'budget' };
    case ThinkingTrait.ADAPTIVE:
      return adaptiveWith(traits, known.kind === 'adaptive' ? known : unknownAdaptive);
    default:
      // Not said, or a mode of a newer contract.
      return known.kind === 'adaptive' ? adaptiveWith(traits, known) : known;
  }
}

type AdaptiveThinking = Extract<ThinkingMode, { kind: 'adaptive' }>;

/** Asks for nothing that a model with adaptive thinking could refuse. */
const unknownAdaptive: AdaptiveThinking = { kind: 'adaptive', onByDefault: false, least: 'low_effort' };

function adaptiveWith({ thinkingByDefault, leastThinking }: ModelTraits, known: AdaptiveThinking): AdaptiveThinking {
  return {
    kind: 'adaptive',
    onByDefault: thinkingByDefault ?? known.onByDefault,
    least: leastOf.get(leastThinking) ?? known.least,
  };
}

const leastOf: ReadonlyMap<LeastThinking, AdaptiveThinking['least']> = new Map<
  LeastThinking,
  AdaptiveThinking['least']
>([
  [LeastThinking.DISABLED, 'disabled'],
  [LeastThinking.BETWEEN_TOOLS, 'between_tools'],
  [LeastThinking.LOW_EFFORT, 'low_effort'],
]);

const lowestFirst: readonly EffortLevel[] = ['low', 'medium', 'high', 'xhigh', 'max'];

function levelsAmong(names: readonly string[]): readonly EffortLevel[] {
  return lowestFirst.filter((level) => names.includes(level));
}
