import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { BufferList } from '@gateway/json';
import { LeaseSchema, LeastThinking, type ModelTraitsSchema, ThinkingMode } from '@gateway/proto/pool/v1/account_pb.js';
import { describeGoldenRequests, type RequestCase } from '@gateway/testkit/adapters';
import { describe, expect, it } from 'vitest';
import {
  hi,
  type ProviderMembers,
  type RequestCases,
  sentHi,
  sentWeather,
  weather,
} from './__fixtures__/provider-request.ts';
import { chatTranslator } from './chat-translator.ts';
import { modelFamilyOf, withTraits } from './model-families.ts';

type Traits = MessageInitShape<typeof ModelTraitsSchema>;

const adaptive = { type: 'adaptive', display: 'summarized' } as const;
const thinkingAt = (effort: 'low' | 'medium' | 'high' | 'xhigh' | 'max') => ({
  thinking: adaptive,
  output_config: { effort },
});

/** A name without a known tier: without traits only the plain format is used. */
const unknownModel = 'my-own-model';
const schema = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};

describe('to an unknown model whose traits are all configured,', () => {
  const traits: Traits = {
    efforts: { levels: ['max', 'low', 'high'] },
    thinking: ThinkingMode.ADAPTIVE,
    thinkingByDefault: true,
    leastThinking: LeastThinking.BETWEEN_TOOLS,
    forcedToolChoice: false,
    structuredOutput: true,
    maxOutputTokens: 20_000,
  };
  describeWithTraits(traits, { model: unknownModel, max_tokens: 20_000 }, [
    withEffort(undefined, { thinking: adaptive }),
    withEffort('none', { thinking: { type: 'between_tools' }, output_config: { effort: 'low' } }),
    withEffort('minimal', thinkingAt('low')),
    withEffort('medium', thinkingAt('low')),
    withEffort('high', thinkingAt('high')),
    withEffort('xhigh', thinkingAt('high')),
    withEffort('ultra', thinkingAt('max')),
    {
      name: 'the effort of its class',
      defaultEffort: 'max',
      request: { messages: hi },
      becomes: { messages: sentHi, ...thinkingAt('max') },
    },
    {
      name: 'more tokens than there may be',
      request: { messages: hi, max_tokens: 20_001 },
      becomes: { messages: sentHi, thinking: adaptive },
    },
    {
      name: 'fewer tokens than there may be',
      request: { messages: hi, max_tokens: 19_999 },
      becomes: { messages: sentHi, max_tokens: 19_999, thinking: adaptive },
    },
    {
      name: 'a tool that must be called',
      request: { messages: hi, tools: [weather], tool_choice: 'required' },
      becomes: {
        messages: sentHi,
        tools: [sentWeather],
        system: 'Your next answer must call at least one of the tools.',
        thinking: adaptive,
      },
    },
    {
      name: 'a schema for the answer',
      request: {
        messages: hi,
        response_format: { type: 'json_schema', json_schema: { name: 'place', schema } },
      },
      becomes: { messages: sentHi, thinking: adaptive, output_config: { format: { type: 'json_schema', schema } } },
    },
  ]);
});

describe('to a model that the configuration makes simpler than its name says,', () => {
  const traits: Traits = {
    efforts: { levels: [] },
    thinking: ThinkingMode.NONE,
    structuredOutput: false,
    forcedToolChoice: true,
  };
  describeWithTraits(traits, { model: 'claude-opus-5-5', max_tokens: 32_000 }, [
    withEffort(undefined, {}),
    withEffort('none', {}),
    withEffort('max', {}),
    {
      name: 'a tool that must be called',
      request: { messages: hi, tools: [weather], tool_choice: 'required' },
      becomes: { messages: sentHi, tools: [sentWeather], tool_choice: { type: 'any' } },
    },
    {
      name: 'a strict tool',
      request: {
        messages: hi,
        tools: [{ type: 'function', function: { name: 'weather', strict: true, parameters: schema } }],
      },
      becomes: { messages: sentHi, tools: [{ name: 'weather', input_schema: { ...schema, type: 'object' } }] },
    },
  ]);
});

describe('to a model that is configured to think within a budget,', () => {
  const traits: Traits = { thinking: ThinkingMode.BUDGET, efforts: { levels: [] } };
  describeWithTraits(traits, { model: 'claude-opus-9', max_tokens: 32_000 }, [
    withEffort(undefined, {}),
    withEffort('none', {}),
    withEffort('high', { thinking: { type: 'enabled', budget_tokens: 16_384 } }),
  ]);
});

describe('to an unknown model that is only said to think as much as it needs,', () => {
  describeWithTraits({ thinking: ThinkingMode.ADAPTIVE }, { model: unknownModel, max_tokens: 32_000 }, [
    withEffort(undefined, {}),
    withEffort('none', {}),
    withEffort('high', { thinking: adaptive }),
  ]);
});

describe('to a known model of which one trait is configured,', () => {
  describeWithTraits({ leastThinking: LeastThinking.DISABLED }, { model: 'claude-opus-5-5', max_tokens: 32_000 }, [
    withEffort('none', { thinking: { type: 'disabled' } }),
    withEffort('xhigh', thinkingAt('xhigh')),
    withEffort(undefined, { thinking: adaptive }),
  ]);
});

describe('withTraits', () => {
  const models = ['claude-3-haiku-20240307', 'claude-opus-4-5', 'claude-opus-4-8', 'claude-sonnet-5-5', unknownModel];

  it.each(models)('changes nothing of %s when nothing is said', (model) => {
    const family = modelFamilyOf(model);
    expect(withTraits(family, undefined)).toBe(family);
    expect(withTraits(family, traitsOf({}))).toMatchObject({
      maxOutputTokens: family.maxOutputTokens,
      thinking: family.thinking,
      thinkingByDefault: family.thinkingByDefault,
      leastThinking: family.leastThinking,
      effortLevels: family.effortLevels,
      forcedToolChoice: family.forcedToolChoice,
      structuredOutput: family.structuredOutput,
    });
  });

  it('changes one trait and leaves the others', () => {
    const family = modelFamilyOf('claude-sonnet-5-5');
    const { thinkingByDefault, ...others } = withTraits(family, traitsOf({ thinkingByDefault: false }));
    expect(thinkingByDefault).toBe(false);
    expect(family).toMatchObject(others);
    expect(withTraits(family, traitsOf({ maxOutputTokens: 7 }))).toMatchObject({ ...others, maxOutputTokens: 7 });
  });

  it('leaves levels that it does not know out', () => {
    const { effortLevels } = withTraits(
      modelFamilyOf(unknownModel),
      traitsOf({ efforts: { levels: ['enormous', 'high', 'minimal', 'low'] } }),
    );
    expect(effortLevels).toEqual(['low', 'high']);
  });
});

function describeWithTraits(
  traits: Traits,
  { model, max_tokens }: { readonly model: string; readonly max_tokens: number },
  cases: RequestCases,
): void {
  describeGoldenRequests({
    cases,
    translate: (asked) => translate(asked, model, traits),
    fixed: () => ({ model, stream: true, max_tokens }),
  });
}

function withEffort(effort: string | undefined, sent: Partial<ProviderMembers>): RequestCase<ProviderMembers> {
  return {
    name: effort === undefined ? 'no effort' : `the effort ${effort}`,
    request: { messages: hi, ...(effort !== undefined && { reasoning_effort: effort }) },
    becomes: { messages: sentHi, ...sent },
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

function traitsOf(traits: Traits) {
  return create(LeaseSchema, { traits }).traits;
}
