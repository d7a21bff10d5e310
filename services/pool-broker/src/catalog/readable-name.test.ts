import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readableNames } from './list-models.ts';

const nameOf = (id: string, displayName = '') => readableNames([{ id, displayName }])[0];

describe('a readable name', () => {
  it.each([
    ['claude-haiku-4-5-20251001', 'Claude Haiku 4.5'],
    ['claude-haiku-4-5', 'Claude Haiku 4.5'],
    ['claude-sonnet-5', 'Claude Sonnet 5'],
    ['claude-opus-4-8', 'Claude Opus 4.8'],
    ['claude-3-5-sonnet-20241022', 'Claude 3.5 Sonnet'],
    ['gpt-5.5', 'GPT-5.5'],
    ['gpt-5.5-mini', 'GPT-5.5 mini'],
    ['gpt-5.5-mini-2026-04-23', 'GPT-5.5 mini'],
    ['gpt-4o', 'GPT-4o'],
    ['gpt-4-0613', 'GPT-4 0613'],
    ['chatgpt-4o-latest', 'ChatGPT-4o latest'],
    ['o3-mini', 'o3 mini'],
    ['codex-mini', 'Codex mini'],
    ['gpt', 'GPT'],
  ])('of %s is %s', (id, name) => {
    expect(nameOf(id)).toBe(name);
  });

  it("is the provider's own where there is one, without a date", () => {
    expect(nameOf('claude-haiku-4-5-20251001', 'Claude Haiku 4.5')).toBe('Claude Haiku 4.5');
    expect(nameOf('gpt-x-2026-01-02', 'GPT X (2026-01-02)')).toBe('GPT X');
    expect(nameOf('gpt-5.5', 'gpt-5.5')).toBe('GPT-5.5');
  });

  it('leaves digits that are no date alone', () => {
    expect(nameOf('claude-x-20251345')).toBe('Claude X 20251345');
  });

  it('carries the date of a snapshot when another listed model has the name', () => {
    const names = readableNames(
      ['gpt-5.5', 'gpt-5.5-2026-04-23', 'gpt-5.5-20260601', 'gpt-6-2027-01-01'].map((id) => ({ id, displayName: '' })),
    );
    expect(names).toEqual(['GPT-5.5', 'GPT-5.5 (2026-04-23)', 'GPT-5.5 (2026-06-01)', 'GPT-6']);
    expect(readableNames([{ id: 'claude-20260101', displayName: '' }], ['Claude'])).toEqual(['Claude (2026-01-01)']);
  });

  it('names all snapshots of one model differently', () => {
    const days = fc.uniqueArray(fc.integer({ min: 10, max: 28 }), { minLength: 1, maxLength: 10 });
    fc.assert(
      fc.property(days, (list) => {
        const names = readableNames(list.map((day) => ({ id: `claude-opus-4-8-202601${day}`, displayName: '' })));
        expect(new Set(names).size).toBe(list.length);
      }),
    );
  });
});
