import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { reasoningEfforts } from '@gateway/chat';
import { BufferList } from '@gateway/json';
import { LeaseSchema, type ModelTraitsSchema } from '@gateway/proto/pool/v1/account_pb.js';
import { describeGoldenRequests, type RequestCase } from '@gateway/testkit/adapters';
import type OpenAI from 'openai';
import { describe } from 'vitest';
import { hi, sentHi as input, type ProviderMembers, type RequestCases } from './__fixtures__/provider-request.ts';
import { chatTranslator } from './chat-translator.ts';

type Traits = MessageInitShape<typeof ModelTraitsSchema>;
type SentEffort = OpenAI.ReasoningEffort;

describe('to a model with some efforts configured,', () => {
  // The mapping of none, minimal, low, medium, high, xhigh, max and ultra.
  const sent: readonly SentEffort[] = ['low', 'low', 'low', 'high', 'high', 'high', 'max', 'max'];
  describeWithTraits('gpt-7', { efforts: { levels: ['max', 'low', 'high'] } }, [
    ...reasoningEfforts.map((effort, index) => withEffort(effort, { reasoning: { effort: sent[index] ?? null } })),
    withEffort(undefined, {}),
    {
      name: 'the effort of its class',
      defaultEffort: 'medium',
      request: { messages: hi },
      becomes: { input, reasoning: { effort: 'high' } },
    },
  ]);
});

describe('to a model of which every effort is configured,', () => {
  const levels: readonly SentEffort[] = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max', 'max'];
  describeWithTraits(
    'gpt-4.1',
    { efforts: { levels: ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] } },
    reasoningEfforts.map((effort, index) => withEffort(effort, { reasoning: { effort: levels[index] ?? null } })),
  );
});

describe('to a model that is configured to take no effort,', () => {
  describeWithTraits(
    'gpt-6',
    { efforts: { levels: [] } },
    reasoningEfforts.map((effort) => withEffort(effort, {})),
  );
});

describe('to a model of an unknown family with configured efforts,', () => {
  describeWithTraits('gpt-6', { efforts: { levels: ['enormous', 'medium'] } }, [
    withEffort('none', { reasoning: { effort: 'medium' } }),
    withEffort('ultra', { reasoning: { effort: 'medium' } }),
  ]);
});

describe('to a model of which other things are configured,', () => {
  describeWithTraits('gpt-6', { structuredOutput: false }, [
    withEffort('max', { reasoning: { effort: 'max' } }),
    withEffort('none', { reasoning: { effort: 'low' } }),
  ]);
});

function describeWithTraits(model: string, traits: Traits, cases: RequestCases): void {
  describeGoldenRequests({
    cases,
    translate: (asked) => translate(asked, model, traits),
    fixed: () => ({ model, stream: true, store: false }),
  });
}

function withEffort(
  effort: string | undefined,
  sent: Pick<ProviderMembers, 'reasoning'>,
): RequestCase<ProviderMembers> {
  return {
    name: effort === undefined ? 'no effort' : `the effort ${effort}`,
    request: { messages: hi, ...(effort !== undefined && { reasoning_effort: effort }) },
    becomes: { input, ...sent },
  };
}

function translate(
  { request, defaultEffort = '' }: RequestCase<ProviderMembers>,
  model: string,
  traits: Traits,
): string {
  const body = new BufferList([Buffer.from(JSON.stringify({ model: 'gateway/sterk', ...request }))]);
  const lease = create(LeaseSchema, { model, defaultEffort, traits });
  const more = {
    requestId: 'request-1',
    members: [],
    forwardHeaders: {},
    affinityKey: '',
    nowMs: 0,
    maxAnswerBytes: 1_000_000,
    maxEventBytes: 1_000_000,
  };
  return String(chatTranslator.prepare({ body, lease, ...more }).body);
}
