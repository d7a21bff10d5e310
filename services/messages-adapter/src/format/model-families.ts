import type { ReasoningEffort } from '@gateway/chat';
import { GatewayError } from '@gateway/errors';
import { LeastThinking, type ModelTraits, ThinkingMode } from '@gateway/proto/pool/v1/account_pb.js';
import type { EffortLevel, Thinking } from './provider-request.ts';

/** What the models of one family accept. Sending a model anything else costs the client a 400. */
export interface ModelFamily {
  /** The maximum number of output tokens of one answer. Undefined when unknown. */
  readonly maxOutputTokens: number | undefined;
  /** A budget is off unless requested. */
  readonly thinking: ThinkingMode;
  /** Whether a model with adaptive thinking thinks when the request does not mention it. */
  readonly thinkingByDefault: boolean;
  /** The setting of a model with adaptive thinking that comes closest to no thinking. */
  readonly leastThinking: LeastThinking;
  /** Levels of `output_config.effort`, lowest first. Empty when the model accepts none. */
  readonly effortLevels: readonly EffortLevel[];
  /** Whether `tool_choice` may be `any` or `tool`. */
  readonly forcedToolChoice: boolean;
  /** Whether `output_config.format` and strict tools are supported. */
  readonly structuredOutput: boolean;
}

/**
 * The family of a provider's model id, dated or not. Versions that are newer than this table count
 * as the newest of their tier; ids that name no tier are assumed to support the plain format only.
 *
 * @see https://platform.claude.com/docs/en/about-claude/models/overview
 * @see https://platform.claude.com/docs/en/build-with-claude/effort
 */
export function modelFamilyOf(model: string): ModelFamily {
  const name = readModelName(model);
  const row = name && rows.find(({ tiers, from }) => tiers.includes(name.tier) && name.version >= from);
  return row ?? plain;
}

const tiers = ['haiku', 'sonnet', 'opus', 'fable', 'mythos'] as const;
type Tier = (typeof tiers)[number];

interface FamilyRow extends ModelFamily {
  readonly tiers: readonly Tier[];
  /**
   * First version of the row, major × 100 + minor; the row extends to the one above for the same
   * tier.
   */
  readonly from: number;
}

const lowToHigh: readonly EffortLevel[] = ['low', 'medium', 'high'];
const withoutXhigh: readonly EffortLevel[] = ['low', 'medium', 'high', 'max'];
const allEfforts: readonly EffortLevel[] = ['low', 'medium', 'high', 'xhigh', 'max'];

const { NONE, BUDGET, ADAPTIVE } = ThinkingMode;
const { DISABLED, BETWEEN_TOOLS, LOW_EFFORT } = LeastThinking;

/**
 * Even if it is configured to have adaptive thinking, it is never sent anything that it could
 * refuse.
 */
const plain: ModelFamily = {
  maxOutputTokens: undefined,
  thinking: NONE,
  thinkingByDefault: false,
  leastThinking: LOW_EFFORT,
  effortLevels: [],
  forcedToolChoice: true,
  structuredOutput: false,
};

const budget: ModelFamily = { ...plain, thinking: BUDGET };

const current: ModelFamily = {
  maxOutputTokens: 128_000,
  thinking: ADAPTIVE,
  thinkingByDefault: true,
  leastThinking: DISABLED,
  effortLevels: allEfforts,
  forcedToolChoice: true,
  structuredOutput: true,
};

/** Newest first: the first matching row applies. */
const rows: readonly FamilyRow[] = [
  { tiers: ['opus'], from: 505, ...current, leastThinking: LOW_EFFORT, forcedToolChoice: false },
  { tiers: ['fable', 'mythos'], from: 501, ...current, leastThinking: LOW_EFFORT, forcedToolChoice: false },
  { tiers: ['fable', 'mythos'], from: 500, ...current, leastThinking: LOW_EFFORT },
  { tiers: ['sonnet'], from: 505, ...current, leastThinking: BETWEEN_TOOLS, forcedToolChoice: false },
  { tiers: ['opus', 'sonnet', 'haiku'], from: 500, ...current },
  { tiers: ['opus', 'sonnet', 'haiku'], from: 407, ...current, thinkingByDefault: false },
  { tiers: ['opus', 'sonnet', 'haiku'], from: 406, ...current, thinkingByDefault: false, effortLevels: withoutXhigh },
  { tiers: ['opus'], from: 405, ...budget, maxOutputTokens: 64_000, effortLevels: lowToHigh, structuredOutput: true },
  { tiers: ['sonnet', 'haiku'], from: 405, ...budget, maxOutputTokens: 64_000, structuredOutput: true },
  { tiers: ['opus'], from: 400, ...budget, maxOutputTokens: 32_000 },
  { tiers: ['sonnet', 'haiku'], from: 400, ...budget, maxOutputTokens: 64_000 },
  { tiers: ['sonnet'], from: 307, ...budget, maxOutputTokens: 64_000 },
  { tiers: ['sonnet', 'haiku'], from: 305, ...plain, maxOutputTokens: 8_192 },
  { tiers: ['opus', 'sonnet', 'haiku'], from: 300, ...plain, maxOutputTokens: 4_096 },
];

interface ModelName {
  readonly tier: Tier;
  /** major × 100 + minor; infinite when the id contains none. */
  readonly version: number;
}

/**
 * `claude-sonnet-4-5-20250929`, `claude-3-7-sonnet-latest`, `claude-opus-5`: a date is not a
 * version.
 */
const versionAfterTier = /(haiku|sonnet|opus|fable|mythos)(?:-(\d{1,2})(?!\d)(?:[-.](\d{1,2})(?!\d))?)?/;
const versionBeforeTier = /claude-(\d{1,2})(?:[-.](\d{1,2}))?-(?:haiku|sonnet|opus)/;

function readModelName(model: string): ModelName | undefined {
  const id = model.toLowerCase();
  const after = versionAfterTier.exec(id);
  const tier = tiers.find((known) => known === after?.[1]);
  if (after === null || tier === undefined) return undefined;
  const [, major = after[2], minor = after[3]] = versionBeforeTier.exec(id) ?? [];
  const version = major === undefined ? Number.POSITIVE_INFINITY : Number(major) * 100 + Number(minor ?? 0);
  return { tier, version };
}

/**
 * A family with the configured traits of one of its models. Traits that are missing, or that only a
 * newer contract knows, keep the family's value.
 */
export function withTraits(family: ModelFamily, traits: ModelTraits | undefined): ModelFamily {
  if (traits === undefined) return family;
  const { thinking, leastThinking } = traits;
  return {
    maxOutputTokens: traits.maxOutputTokens ?? family.maxOutputTokens,
    thinking: [NONE, BUDGET, ADAPTIVE].includes(thinking) ? thinking : family.thinking,
    thinkingByDefault: traits.thinkingByDefault ?? family.thinkingByDefault,
    leastThinking: [DISABLED, BETWEEN_TOOLS, LOW_EFFORT].includes(leastThinking) ? leastThinking : family.leastThinking,
    effortLevels: traits.efforts === undefined ? family.effortLevels : levelsAmong(traits.efforts.levels),
    forcedToolChoice: traits.forcedToolChoice ?? family.forcedToolChoice,
    structuredOutput: traits.structuredOutput ?? family.structuredOutput,
  };
}

function levelsAmong(names: readonly string[]): readonly EffortLevel[] {
  return allEfforts.filter((level) => names.includes(level));
}

/** Output tokens of an answer when the client sets no maximum. @see spec "Size limits" */
const defaultMaxOutputTokens = 32_000;

/**
 * `max_tokens`, which the Messages format requires: the client's maximum or the default, but never
 * more than the model allows. Throws `invalid_request` for less than one token, which the provider
 * would read as "warm the cache only".
 */
export function maxTokensFor(family: ModelFamily, requested: number | undefined): number {
  if (requested !== undefined && requested < 1) {
    throw new GatewayError('invalid_request', 'max_completion_tokens must be at least 1');
  }
  return Math.min(requested ?? defaultMaxOutputTokens, family.maxOutputTokens ?? Number.POSITIVE_INFINITY);
}

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
