import { create } from '@bufbuild/protobuf';
import type { ModelTraits } from '@gateway/config';
import {
  LeastThinking,
  ModelTraitsSchema,
  QuotaWindowSchema,
  ThinkingMode,
} from '@gateway/proto/pool/v1/account_pb.js';
import { describe, expect, it } from 'vitest';
import { sampleGateway } from '../__fixtures__/sample-gateway.ts';
import { toWindows } from '../accounts/attempt.ts';
import { traitsOfModel } from '../catalog/model-traits.ts';

const unsaid: ModelTraits = {
  efforts: undefined,
  thinking: undefined,
  thinkingByDefault: undefined,
  leastThinking: undefined,
  forcedToolChoice: undefined,
  structuredOutput: undefined,
  maxOutputTokens: undefined,
};

function traitsSentFor(model: string, pattern: string, traits: Partial<ModelTraits>) {
  const [pool = expect.fail()] = sampleGateway.pools;
  const modelTraits = [{ pattern, traits: { ...unsaid, ...traits } }];
  const sent = traitsOfModel({ ...pool, modelTraits }, model);
  return sent === undefined ? undefined : create(ModelTraitsSchema, sent);
}

describe('a lease', () => {
  it('carries everything that is configured of its model', () => {
    const sent = traitsSentFor('gpt-7', 'gpt-7*', {
      efforts: ['low', 'max'],
      thinking: 'adaptive',
      thinkingByDefault: false,
      leastThinking: 'between_tools',
      forcedToolChoice: false,
      structuredOutput: true,
      maxOutputTokens: 128_000,
    });
    expect(sent).toMatchObject({
      efforts: { levels: ['low', 'max'] },
      thinking: ThinkingMode.ADAPTIVE,
      thinkingByDefault: false,
      leastThinking: LeastThinking.BETWEEN_TOOLS,
      forcedToolChoice: false,
      structuredOutput: true,
      maxOutputTokens: 128_000,
    });
  });

  it('distinguishes "no efforts" from "efforts not said"', () => {
    expect(traitsSentFor('gpt-7', '*', { efforts: [] })?.efforts?.levels).toEqual([]);
    expect(traitsSentFor('gpt-7', '*', { thinking: 'none' })).toMatchObject({ thinking: ThinkingMode.NONE });
    expect(traitsSentFor('gpt-7', '*', { thinking: 'none' })?.efforts).toBeUndefined();
  });

  it('leaves what is not said unsaid', () => {
    const sent = traitsSentFor('gpt-7', '*', { structuredOutput: false }) ?? expect.fail();
    expect(sent.structuredOutput).toBe(false);
    expect(sent.forcedToolChoice).toBeUndefined();
    expect(sent.thinkingByDefault).toBeUndefined();
    expect(sent.maxOutputTokens).toBeUndefined();
    expect([sent.thinking, sent.leastThinking]).toEqual([ThinkingMode.UNSPECIFIED, LeastThinking.UNSPECIFIED]);
  });

  it('has no traits when nothing is configured of its model', () => {
    expect(traitsSentFor('gpt-7', 'gpt-8*', { efforts: [] })).toBeUndefined();
  });
});

describe('a reported quota', () => {
  it('is taken as it is, but for its reset: that is counted by the clock of the broker', () => {
    const windows = [
      { name: '7d_opus', models: '*opus*', usedFraction: 0.25, lengthSeconds: 604_800 },
      { name: 'requests', models: 'gpt-5.5', usedFraction: 1.5, lengthSeconds: 0 },
    ];
    const messages = windows.map((window) => create(QuotaWindowSchema, { ...window, resetsAtMs: 1_795_132_800_123 }));
    for (const message of messages.slice(0, 1)) message.resetsAfterMs = 5_000;
    expect(toWindows(messages, 1_000)).toEqual([{ ...windows[0], resetsAtMs: 6_000 }, windows[1]]);
  });

  it('is passed over when it says nothing of use', () => {
    const useless = [{ name: '' }, { name: 'a', usedFraction: Number.NaN }, { name: 'a', usedFraction: -1 }];
    expect(
      toWindows(
        useless.map((fields) => create(QuotaWindowSchema, fields)),
        0,
      ),
    ).toEqual([]);
    const many = Array.from({ length: 100 }, (_, n) => create(QuotaWindowSchema, { name: `${n}` }));
    expect(toWindows(many, 0)).toHaveLength(16);
  });
});
