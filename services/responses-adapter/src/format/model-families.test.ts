import { reasoningEfforts } from '@gateway/chat';
import { describe, expect, it } from 'vitest';
import { mapReasoningEffort } from './model-families.ts';

describe('mapReasoningEffort', () => {
  // Per model, the mapping of none, minimal, low, medium, high, xhigh, max and ultra.
  it.each<[string, string]>([
    ['gpt-5', 'minimal minimal low medium high high high high'],
    ['gpt-5-mini', 'minimal minimal low medium high high high high'],
    ['gpt-5-2025-08-07', 'minimal minimal low medium high high high high'],
    ['gpt-5.1', 'none low low medium high high high high'],
    ['gpt-5.1-codex', 'none low low medium high high high high'],
    ['gpt-5.2', 'none low low medium high xhigh xhigh xhigh'],
    ['gpt-5.5-mini', 'none low low medium high xhigh xhigh xhigh'],
    ['gpt-5.6', 'none low low medium high xhigh max max'],
    ['gpt-5.6-luna', 'low low low medium high xhigh max max'],
    ['gpt-6', 'low low low medium high xhigh max max'],
    ['gpt-6.1-sol', 'low low low medium high xhigh max max'],
    ['gpt-10', 'low low low medium high xhigh max max'],
    ['o4-mini', 'low low low medium high high high high'],
    ['my-own-model', 'low low low medium high high high high'],
  ])('gives %s the nearest level that it takes', (model, expected) => {
    expect(reasoningEfforts.map((effort) => mapReasoningEffort(effort, model)).join(' ')).toBe(expected);
  });

  it.each(['gpt-4o', 'gpt-4.1-mini', 'gpt-35-turbo', 'chatgpt-4o-latest'])('sends none to %s', (model) => {
    expect(reasoningEfforts.map((effort) => mapReasoningEffort(effort, model)).filter(Boolean)).toEqual([]);
  });

  it('sends none when none is wanted', () => {
    expect(mapReasoningEffort(undefined, 'gpt-5.5')).toBeUndefined();
  });
});
