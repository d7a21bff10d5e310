import type Anthropic from '@anthropic-ai/sdk';
import {
  assistant,
  call,
  hi,
  type ProviderMembers,
  type RequestCases,
  result,
  sentHi,
  sentWeather,
  text,
  toolResult,
  toolUse,
  user,
  weather,
} from './provider-request.ts';

type Reasoning = Pick<ProviderMembers, 'max_tokens' | 'thinking' | 'output_config'>;
type Effort = 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max' | 'ultra';

const efforts: readonly Effort[] = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max', 'ultra'];
const adaptive = { type: 'adaptive', display: 'summarized' } as const;

/** Efforts of models that think as much as they need. */
const anyEffort: Readonly<Record<Effort, Reasoning>> = {
  none: { thinking: { type: 'disabled' } },
  minimal: thinkingAt('low'),
  low: thinkingAt('low'),
  medium: thinkingAt('medium'),
  high: thinkingAt('high'),
  xhigh: thinkingAt('xhigh'),
  max: thinkingAt('max'),
  ultra: thinkingAt('max'),
};

/** Efforts of models that are given a number of tokens to think with, of 64,000 in all. */
const budgets: Readonly<Record<Effort, Reasoning>> = {
  none: {},
  minimal: budget(1_024),
  low: budget(2_048),
  medium: budget(8_192),
  high: budget(16_384),
  xhigh: budget(24_576),
  max: budget(32_000),
  ultra: budget(32_000),
};

export const reasoningCases: RequestCases = [
  ...everyEffort('claude-3-5-haiku-20241022', { max_tokens: 8_192 }, () => ({})),
  ...everyEffort('my-own-model', { max_tokens: 64_000 }, () => ({})),
  ...everyEffort('claude-haiku-4-5-20251001', { max_tokens: 64_000 }, (effort) => budgets[effort]),
  ...everyEffort('claude-opus-4-5', { max_tokens: 64_000 }, (effort) => ({ ...budgets[effort], ...upToHigh(effort) })),
  ...everyEffort('claude-sonnet-4-6', { max_tokens: 64_000 }, (effort) =>
    effort === 'xhigh' ? thinkingAt('high') : anyEffort[effort],
  ),
  ...everyEffort('claude-opus-4-7', { max_tokens: 64_000 }, (effort) => anyEffort[effort]),
  ...everyEffort('claude-sonnet-5-20260801', { max_tokens: 64_000 }, (effort) => anyEffort[effort]),
  ...everyEffort('claude-haiku-5-5', { max_tokens: 64_000 }, (effort) => anyEffort[effort]),
  ...everyEffort('claude-sonnet-5-5', { max_tokens: 64_000 }, (effort) =>
    effort === 'none' ? { thinking: { type: 'between_tools' }, output_config: { effort: 'low' } } : anyEffort[effort],
  ),
  ...everyEffort('claude-opus-5-5', { max_tokens: 64_000 }, alwaysThinking),
  ...everyEffort('claude-fable-5', { max_tokens: 64_000 }, alwaysThinking),
  ...everyEffort('claude-mythos-5-1', { max_tokens: 64_000 }, alwaysThinking),
  ...noEffort({
    'claude-3-7-sonnet-20250219': {},
    'claude-sonnet-4-5': {},
    'claude-opus-4-6': {},
    'claude-opus-4-8': {},
    'claude-sonnet-5': { thinking: adaptive },
    'claude-opus-5': { thinking: adaptive },
    'claude-opus-5-5': { thinking: adaptive },
    'claude-fable-5-2': { thinking: adaptive },
  }),
  ...classEfforts({
    'the effort of the class': [{}, 'high', thinkingAt('high')],
    'an effort that is null, and one of the class': [{ reasoning_effort: null }, 'high', thinkingAt('high')],
    'an effort of its own, which beats that of the class': [{ reasoning_effort: 'low' }, 'max', thinkingAt('low')],
    'no effort at all, which beats that of the class': [{ reasoning_effort: 'none' }, 'max', anyEffort.none],
    'a class that wants no effort': [{}, 'none', anyEffort.none],
    'an effort of the class that there is not': [{}, 'enormous', {}],
  }),
  ...budgetsWithin({ 1024: undefined, 1025: 1_024, 4096: 3_072, 8000: 6_000, 22000: 16_384, 32000: 16_384 }),
  {
    name: 'the largest effort and the usual number of tokens, of which some stay for the answer',
    model: 'claude-sonnet-4-5',
    request: { messages: hi, reasoning_effort: 'max' },
    becomes: { messages: sentHi, thinking: { type: 'enabled', budget_tokens: 24_000 } },
  },
  ...afterTools({
    'claude-sonnet-4-5': {},
    'claude-opus-4-5': { output_config: { effort: 'high' } },
    'claude-opus-4-8': thinkingAt('high'),
    'claude-sonnet-5-5': thinkingAt('high'),
  }),
  {
    name: 'effort while results and a remark of the user wait, on a model with a budget',
    model: 'claude-sonnet-4-5',
    request: {
      tools: [weather],
      reasoning_effort: 'high',
      messages: [
        ...hi,
        { role: 'assistant', tool_calls: [call('a')] },
        result('a', 'sun'),
        { role: 'user', content: 'So?' },
      ],
    },
    becomes: {
      tools: [sentWeather],
      messages: [...sentHi, assistant(toolUse('a')), user(toolResult('a', 'sun'), text('So?'))],
    },
  },
  {
    name: 'effort for a new question after tools were used, on a model with a budget',
    model: 'claude-sonnet-4-5',
    request: {
      tools: [weather],
      reasoning_effort: 'low',
      messages: [
        ...[...hi, { role: 'assistant', tool_calls: [call('a')] }, result('a', 'sun')],
        ...[
          { role: 'assistant', content: 'Sun.' },
          { role: 'user', content: 'So?' },
        ],
      ],
    },
    becomes: {
      thinking: { type: 'enabled', budget_tokens: 2_048 },
      tools: [sentWeather],
      messages: [
        ...[...sentHi, assistant(toolUse('a')), user(toolResult('a', 'sun'))],
        ...[assistant(text('Sun.')), user(text('So?'))],
      ],
    },
  },
  {
    name: 'effort for a begun answer, on a model with a budget',
    model: 'claude-sonnet-4-5',
    request: { messages: [...hi, { role: 'assistant', content: 'Well' }], reasoning_effort: 'high' },
    becomes: { messages: [...sentHi, assistant(text('Well'))] },
  },
  ...['extreme', 'HIGH', 7, {}].map((reasoning_effort) => ({
    name: `the effort ${JSON.stringify(reasoning_effort)}, which there is not`,
    request: { messages: hi, reasoning_effort },
    becomes: { refused: 'invalid_request' as const, field: 'reasoning_effort' },
  })),
];

function everyEffort(
  model: string,
  { max_tokens }: { readonly max_tokens: number },
  sent: (effort: Effort) => Reasoning,
): RequestCases {
  return efforts.map((effort) => ({
    name: `the effort ${effort} for ${model}`,
    model,
    request: { messages: hi, max_tokens, reasoning_effort: effort },
    becomes: { messages: sentHi, max_tokens, ...sent(effort) },
  }));
}

function alwaysThinking(effort: Effort): Reasoning {
  return effort === 'none' ? { output_config: { effort: 'low' } } : anyEffort[effort];
}

/** The one model with a budget that also knows effort, up to high. */
function upToHigh(effort: Effort): Reasoning {
  if (effort === 'none') return {};
  const known = effort === 'medium' ? 'medium' : effort === 'low' || effort === 'minimal' ? 'low' : 'high';
  return { output_config: { effort: known } };
}

function noEffort(models: Readonly<Record<string, Reasoning>>): RequestCases {
  return Object.entries(models).map(([model, sent]) => ({
    name: `no effort for ${model}`,
    model,
    request: { messages: hi },
    becomes: { messages: sentHi, ...sent },
  }));
}

function classEfforts(
  cases: Readonly<Record<string, readonly [members: object, defaultEffort: string, sent: Reasoning]>>,
): RequestCases {
  return Object.entries(cases).map(([name, [members, defaultEffort, sent]]) => ({
    name,
    defaultEffort,
    request: { messages: hi, ...members },
    becomes: { messages: sentHi, ...sent },
  }));
}

/** High effort on a model with a budget, for answers of so many tokens at most. */
function budgetsWithin(budgetOf: Readonly<Record<number, number | undefined>>): RequestCases {
  return Object.entries(budgetOf).map(([maximum, tokens]) => ({
    name: `high effort within ${maximum} tokens`,
    model: 'claude-sonnet-4-5',
    request: { messages: hi, reasoning_effort: 'high', max_tokens: Number(maximum) },
    becomes: { messages: sentHi, max_tokens: Number(maximum), ...(tokens !== undefined && budget(tokens)) },
  }));
}

/** Effort while tools are being answered: a budget needs the thinking that came before, which chat clients never get. */
function afterTools(models: Readonly<Record<string, Reasoning>>): RequestCases {
  return Object.entries(models).map(([model, sent]) => ({
    name: `effort while a result waits, for ${model}`,
    model,
    request: {
      tools: [weather],
      reasoning_effort: 'high',
      messages: [...hi, { role: 'assistant', tool_calls: [call('a')] }, result('a', 'sun')],
    },
    becomes: {
      tools: [sentWeather],
      messages: [...sentHi, assistant(toolUse('a')), user(toolResult('a', 'sun'))],
      ...sent,
    },
  }));
}

function thinkingAt(effort: NonNullable<Anthropic.OutputConfig['effort']>): Reasoning {
  return { thinking: adaptive, output_config: { effort } };
}

function budget(tokens: number): Reasoning {
  return { thinking: { type: 'enabled', budget_tokens: tokens } };
}
