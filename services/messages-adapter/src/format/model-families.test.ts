import { ThinkingMode } from '@gateway/proto/pool/v1/account_pb.js';
import { describe, expect, it } from 'vitest';
import { maxTokensFor, modelFamilyOf } from './model-families.ts';

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
