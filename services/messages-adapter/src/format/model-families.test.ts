import { describe, expect, it } from 'vitest';
import { maxTokensFor, modelFamilyOf } from './model-families.ts';

describe('modelFamilyOf', () => {
  it.each([
    ['claude-3-haiku-20240307', 4_096, 'none', true],
    ['claude-3-5-sonnet-20241022', 8_192, 'none', true],
    ['claude-3-7-sonnet-20250219', 64_000, 'budget', true],
    ['claude-sonnet-4-20250514', 64_000, 'budget', true],
    ['claude-opus-4-1-20250805', 32_000, 'budget', true],
    ['claude-sonnet-4-5-20250929', 64_000, 'budget', true],
    ['anthropic/claude-opus-4.6', 128_000, 'adaptive', true],
    ['claude-opus-4-8', 128_000, 'adaptive', true],
    ['claude-sonnet-5', 128_000, 'adaptive', true],
    ['claude-sonnet-5-20260801', 128_000, 'adaptive', true],
    ['claude-haiku-5-5', 128_000, 'adaptive', true],
    ['claude-sonnet-5-5', 128_000, 'adaptive', false],
    ['claude-opus-5-5-20261001', 128_000, 'adaptive', false],
    ['claude-fable-5', 128_000, 'adaptive', true],
    ['claude-fable-5-2', 128_000, 'adaptive', false],
    ['claude-mythos-preview', 128_000, 'adaptive', false],
    ['claude-opus-7', 128_000, 'adaptive', false],
    ['my-own-model', undefined, 'none', true],
  ])('%s: %j tokens, thinking %s, forced tools %s', (model, maxOutputTokens, thinking, forcedToolChoice) => {
    expect(modelFamilyOf(model)).toMatchObject({ maxOutputTokens, thinking: { kind: thinking }, forcedToolChoice });
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
