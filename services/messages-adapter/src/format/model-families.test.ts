import { type ReasoningEffort, readDefaultEffort, reasoningEfforts } from '@gateway/chat';
import { ThinkingMode } from '@gateway/proto/pool/v1/account_pb.js';
import { describe, expect, it } from 'vitest';
import { mapReasoningEffort, maxTokensFor, modelFamilyOf } from './model-families.ts';

describe('modelFamilyOf', () => {
  it.each<[string, number | undefined, keyof typeof ThinkingMode, boolean]>([
    ['claude-3-haiku-20240307', 4_096, 'NONE', true],
    ['claude-3-5-sonnet-20241022', 8_192, 'NONE', true],
    ['claude-3-7-sonnet-20250219', 64_000, 'BUDGET', true],
    ['claude-sonnet-4-20250514', 64_000, 'BUDGET', true],
    ['claude-opus-4-1-20250805', 32_000, 'BUDGET', true],
    ['claude-sonnet-4-5-20250929', 64_000, 'BUDGET', true],
    ['anthropic/claude-opus-4.6', 128_000, 'ADAPTIVE', true],
    ['claude-opus-4-8', 128_000, 'ADAPTIVE', true],
    ['claude-sonnet-5', 128_000, 'ADAPTIVE', true],
    ['claude-sonnet-5-20260801', 128_000, 'ADAPTIVE', true],
    ['claude-haiku-5-5', 128_000, 'ADAPTIVE', true],
    ['claude-sonnet-5-5', 128_000, 'ADAPTIVE', false],
    ['claude-opus-5-5-20261001', 128_000, 'ADAPTIVE', false],
    ['claude-fable-5', 128_000, 'ADAPTIVE', true],
    ['claude-fable-5-2', 128_000, 'ADAPTIVE', false],
    ['claude-mythos-preview', 128_000, 'ADAPTIVE', false],
    ['claude-opus-7', 128_000, 'ADAPTIVE', false],
    ['my-own-model', undefined, 'NONE', true],
  ])('%s: %j tokens, thinking %s, forced tools %s', (model, maxOutputTokens, thinking, forcedToolChoice) => {
    expect(modelFamilyOf(model)).toMatchObject({ maxOutputTokens, thinking: ThinkingMode[thinking], forcedToolChoice });
  });
});

describe('maxTokensFor', () => {
  it.each([
    ['claude-sonnet-5', undefined, 32_000],
    ['claude-sonnet-5', 500_000, 128_000],
    ['claude-sonnet-5', 10, 10],
    ['claude-3-haiku-20240307', undefined, 4_096],
    ['my-own-model', 500_000, 500_000],
  ])('%s, asked for %j: %i', (model, requested, expected) => {
    expect(maxTokensFor(modelFamilyOf(model), requested)).toBe(expected);
  });

  it('refuses an answer of no tokens', () => {
    expect(() => maxTokensFor(modelFamilyOf('claude-sonnet-5'), 0)).toThrow(/^max_completion_tokens/);
  });
});

const adaptive = { type: 'adaptive', display: 'summarized' };

describe('mapReasoningEffort', () => {
  it.each<[string, ReasoningEffort, unknown]>([
    ['claude-3-5-haiku-20241022', 'high', {}],
    ['claude-sonnet-4-5-20250929', 'none', {}],
    ['claude-sonnet-4-5-20250929', 'minimal', { thinking: budget(1_024) }],
    ['claude-sonnet-4-5-20250929', 'low', { thinking: budget(2_048) }],
    ['claude-3-7-sonnet-latest', 'medium', { thinking: budget(8_192) }],
    ['claude-haiku-4-5', 'high', { thinking: budget(16_384) }],
    ['claude-haiku-4-5', 'max', { thinking: budget(24_000) }],
    ['claude-opus-4-5', 'max', { thinking: budget(24_000), effort: 'high' }],
    ['claude-opus-4-6', 'none', { thinking: { type: 'disabled' } }],
    ['claude-opus-4-6', 'xhigh', { thinking: adaptive, effort: 'high' }],
    ['claude-sonnet-4-6', 'ultra', { thinking: adaptive, effort: 'max' }],
    ['claude-opus-4-8', 'xhigh', { thinking: adaptive, effort: 'xhigh' }],
    ['claude-sonnet-5', 'minimal', { thinking: adaptive, effort: 'low' }],
    ['claude-haiku-5-5', 'none', { thinking: { type: 'disabled' } }],
    ['claude-sonnet-5-5', 'none', { thinking: { type: 'between_tools' }, effort: 'low' }],
    ['claude-opus-5-5', 'none', { effort: 'low' }],
    ['claude-fable-5', 'none', { effort: 'low' }],
    ['claude-mythos-5-1', 'ultra', { thinking: adaptive, effort: 'max' }],
    ['some-other-model', 'high', {}],
  ])('%s, %s', (model, effort, expected) => {
    expect(map(model, { effort })).toEqual(expected);
  });

  it('sets no effort when none is asked, and shows the thinking of models that think by themselves', () => {
    for (const model of ['claude-sonnet-4-5', 'claude-opus-4-8', 'x']) {
      expect(map(model, { effort: undefined })).toEqual({});
    }
    expect(map('claude-opus-5-5', { effort: undefined })).toEqual({ thinking: adaptive });
  });

  it('keeps the budget below the maximum, with room for the answer', () => {
    expect(map('claude-sonnet-4-5', { maxTokens: 1_024 })).toEqual({});
    expect(map('claude-sonnet-4-5', { maxTokens: 1_025 }).thinking).toEqual(budget(1_024));
    expect(map('claude-sonnet-4-5', { maxTokens: 8_000 }).thinking).toEqual(budget(6_000));
  });

  it('does without a budget while tools are answered or an answer is continued', () => {
    expect(map('claude-sonnet-4-5', { endsWithUserInput: false })).toEqual({});
    expect(map('claude-opus-4-5', { endsWithUserInput: false })).toEqual({ effort: 'high' });
    expect(map('claude-opus-4-8', { endsWithUserInput: false })).toEqual({ thinking: adaptive, effort: 'high' });
  });

  it('asks for no thinking beside a forced tool', () => {
    expect(map('claude-sonnet-4-5', { toolForced: true })).toEqual({});
    expect(map('claude-opus-4-8', { toolForced: true })).toEqual({ effort: 'high' });
    expect(map('claude-sonnet-5', { toolForced: true })).toEqual({ effort: 'high' });
    expect(map('claude-sonnet-5', { toolForced: true, effort: undefined })).toEqual({});
  });

  it('takes every effort on every model', () => {
    const tiers = ['haiku', 'sonnet', 'opus', 'fable', 'mythos'];
    const versions = ['3', '3-5', '4', '4-5', '4-6', '4-8', '5', '5-1', '5-5', '6', '12-3'];
    for (const model of tiers.flatMap((tier) => versions.map((version) => `claude-${tier}-${version}`))) {
      for (const effort of reasoningEfforts) {
        const { effort: level } = map(model, { effort });
        expect([undefined, ...modelFamilyOf(model).effortLevels]).toContain(level);
      }
    }
  });
});

describe('readDefaultEffort', () => {
  it('knows the efforts and nothing else', () => {
    expect(['high', '', 'HIGH', 'enormous'].map(readDefaultEffort)).toEqual(['high', undefined, undefined, undefined]);
  });
});

function map(model: string, request: Partial<Parameters<typeof mapReasoningEffort>[0]>) {
  return mapReasoningEffort({
    effort: 'high',
    family: modelFamilyOf(model),
    maxTokens: 32_000,
    endsWithUserInput: true,
    toolForced: false,
    ...request,
  });
}

function budget(tokens: number) {
  return { type: 'enabled', budget_tokens: tokens };
}
