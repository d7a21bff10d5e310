import type { ReasoningEffort } from '@gateway/chat';
import { LeastThinking, ThinkingMode } from '@gateway/proto/pool/v1/account_pb.js';
import type { ModelFamily } from './model-families.ts';
import type { EffortLevel, Thinking } from './provider-request.ts';

interface ReasoningRequest {
  readonly effort: ReasoningEffort | undefined;
  readonly family: ModelFamily;
  readonly maxTokens: number;
  /**
   * True when the conversation ends with plain input of the user: no tool results, no started
   * answer.
   */
  readonly endsWithUserInput: boolean;
  /** True when `tool_choice` forces the model to call a tool. */
  readonly toolForced: boolean;
}

interface ReasoningSettings {
  readonly thinking?: Thinking | undefined;
  readonly effort?: EffortLevel | undefined;
}

/**
 * How hard the model should think: the closest setting to the requested effort that its family
 * accepts, never an error. Without an effort the model uses its own default.
 *
 * @see https://platform.claude.com/docs/en/build-with-claude/extended-thinking
 */
export function mapReasoningEffort(request: ReasoningRequest): ReasoningSettings {
  const { effort, family } = request;
  if (effort === undefined) return { thinking: thinkingByDefault(request) };
  if (effort === 'none') return leastReasoning(family);
  return { thinking: thinkingFor(request, effort), effort: nearestLevel(levelOf[effort], family.effortLevels) };
}

type ThinkingEffort = Exclude<ReasoningEffort, 'none'>;

const levelOf: Readonly<Record<ThinkingEffort, EffortLevel>> = {
  minimal: 'low',
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'xhigh',
  max: 'max',
  ultra: 'max',
};

const budgetTokensOf: Readonly<Record<ThinkingEffort, number>> = {
  minimal: 1_024,
  low: 2_048,
  medium: 8_192,
  high: 16_384,
  xhigh: 24_576,
  max: 32_000,
  ultra: 32_000,
};

const smallestBudgetTokens = 1_024;

function leastReasoning({ thinking, leastThinking, effortLevels }: ModelFamily): ReasoningSettings {
  if (thinking !== ThinkingMode.ADAPTIVE) return {};
  if (leastThinking === LeastThinking.DISABLED) return { thinking: { type: 'disabled' } };
  const [effort] = effortLevels;
  return leastThinking === LeastThinking.BETWEEN_TOOLS ? { thinking: { type: 'between_tools' }, effort } : { effort };
}

function thinkingFor(request: ReasoningRequest, effort: ThinkingEffort): Thinking | undefined {
  const { thinking } = request.family;
  if (thinking === ThinkingMode.ADAPTIVE) return adaptiveThinking(request);
  return thinking === ThinkingMode.BUDGET ? budgetThinking(request, effort) : undefined;
}

function thinkingByDefault(request: ReasoningRequest): Thinking | undefined {
  const { thinking, thinkingByDefault: isOn } = request.family;
  return thinking === ThinkingMode.ADAPTIVE && isOn ? adaptiveThinking(request) : undefined;
}

/**
 * Thinking is streamed as a summary, although no client sees it. Without it a provider that thinks
 * for long would look stalled, and the usage of an abandoned request would be unknown.
 */
function adaptiveThinking({ toolForced }: ReasoningRequest): Thinking | undefined {
  // Requesting thinking together with a forced tool is refused; a model that thinks by default
  // needs no request.
  return toolForced ? undefined : { type: 'adaptive', display: 'summarized' };
}

/**
 * With a budget, the last assistant turn must start with a thinking block while its tools are being
 * answered or its text is being continued. Chat clients have no such block to send back, so these
 * turns go without thinking.
 */
function budgetThinking(request: ReasoningRequest, effort: ThinkingEffort): Thinking | undefined {
  const { maxTokens, endsWithUserInput, toolForced } = request;
  if (!endsWithUserInput || toolForced || maxTokens <= smallestBudgetTokens) return undefined;
  // Thinking counts towards max_tokens: a quarter of it is reserved for the answer.
  const affordable = Math.max(smallestBudgetTokens, Math.floor((maxTokens * 3) / 4));
  return { type: 'enabled', budget_tokens: Math.min(budgetTokensOf[effort], affordable) };
}

/**
 * The wanted level, or the next lower one, or the lowest. Undefined when the model accepts no
 * levels.
 */
function nearestLevel(wanted: EffortLevel, levels: readonly EffortLevel[]): EffortLevel | undefined {
  const order: readonly EffortLevel[] = ['low', 'medium', 'high', 'xhigh', 'max'];
  const below = levels.filter((level) => order.indexOf(level) <= order.indexOf(wanted));
  return below.at(-1) ?? levels[0];
}
