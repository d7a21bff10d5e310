import { reasoningEfforts } from '@gateway/chat';
import type OpenAI from 'openai';
import { question } from './client-messages.ts';
import { userItem } from './input-items.ts';
import type { ResponsesRequestCase } from './provider-members.ts';

type SentEffort = OpenAI.ReasoningEffort;

/** Per model, what becomes of none, minimal, low, medium, high, xhigh, max and ultra. */
const effortsOfModels: Readonly<Record<string, readonly SentEffort[]>> = {
  'gpt-5': ['minimal', 'minimal', 'low', 'medium', 'high', 'high', 'high', 'high'],
  'gpt-5.1': ['none', 'low', 'low', 'medium', 'high', 'high', 'high', 'high'],
  'gpt-5.5': ['none', 'low', 'low', 'medium', 'high', 'xhigh', 'xhigh', 'xhigh'],
  'gpt-5.6-sol': ['low', 'low', 'low', 'medium', 'high', 'xhigh', 'max', 'max'],
  'gpt-5.6-luna': ['low', 'low', 'low', 'medium', 'high', 'xhigh', 'max', 'max'],
  'gpt-6': ['low', 'low', 'low', 'medium', 'high', 'xhigh', 'max', 'max'],
  'gpt-6.1-sol': ['low', 'low', 'low', 'medium', 'high', 'xhigh', 'max', 'max'],
  'a-model-of-our-own': ['low', 'low', 'low', 'medium', 'high', 'high', 'high', 'high'],
};

const input = [userItem('Hi')];
const wanting = (reasoning_effort: unknown) => ({ messages: [question], reasoning_effort });

const refused = (name: string, effort: unknown): ResponsesRequestCase => ({
  name,
  request: wanting(effort),
  becomes: { refused: 'invalid_request', field: 'reasoning_effort' },
});

/** The nearest effort that the model takes: the request's, else its class's. */
export const effortCases: readonly ResponsesRequestCase[] = [
  ...Object.entries(effortsOfModels).flatMap(([model, sent]) =>
    reasoningEfforts.map((effort, index) => ({
      name: `effort ${effort} for ${model}`,
      model,
      request: wanting(effort),
      becomes: { input, reasoning: { effort: sent[index] ?? null } },
    })),
  ),
  ...reasoningEfforts.map((effort) => ({
    name: `effort ${effort} for a model that does not reason`,
    model: 'gpt-4.1-mini',
    request: wanting(effort),
    becomes: { input },
  })),
  ...(['none', 'low', 'xhigh'] as const).map((defaultEffort) => ({
    name: `effort ${defaultEffort} of its class`,
    request: { messages: [question] },
    defaultEffort,
    becomes: { input, reasoning: { effort: defaultEffort } },
  })),
  {
    name: 'an effort of its class that the model lacks',
    request: { messages: [question] },
    defaultEffort: 'ultra',
    becomes: { input, reasoning: { effort: 'xhigh' } },
  },
  {
    name: 'an effort of its own beside that of its class',
    request: wanting('low'),
    defaultEffort: 'high',
    becomes: { input, reasoning: { effort: 'low' } },
  },
  {
    name: 'effort none of its own beside that of its class',
    request: wanting('none'),
    defaultEffort: 'high',
    becomes: { input, reasoning: { effort: 'none' } },
  },
  {
    name: 'an effort that is null beside that of its class',
    request: wanting(null),
    defaultEffort: 'high',
    becomes: { input, reasoning: { effort: 'high' } },
  },
  {
    name: 'an effort that is null and a class without one',
    request: wanting(null),
    becomes: { input },
  },
  {
    name: 'an effort of its class for a model that does not reason',
    model: 'gpt-4.1-mini',
    request: { messages: [question] },
    defaultEffort: 'high',
    becomes: { input },
  },
  {
    name: 'an effort as Responses writes it',
    request: { messages: [question], reasoning: { effort: 'high', summary: 'auto' } },
    becomes: { input },
  },
  refused('an effort that is not known', 'huge'),
  refused('an effort in upper case', 'High'),
  refused('an empty effort', ''),
  refused('an effort in numbers', 3),
];
