import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fitPasses, maxTokenCount, nameIn, servedWord, toolCallsIn, type UsagePass } from './token-usage.ts';

const pass = (given: Partial<UsagePass>): UsagePass => ({
  ...{ kind: 'compaction', model: '', inputTokens: 0, cachedTokens: 0 },
  ...{ cacheWrite5mTokens: 0, cacheWrite1hTokens: 0, outputTokens: 0, ...given },
});

describe('the passes of an answer', () => {
  it('are kept one by one, and added up by kind and model if they are many', () => {
    const few = Array.from({ length: 32 }, () => pass({ inputTokens: 2 }));
    expect(fitPasses(few)).toEqual({ passes: few, isIncomplete: false });
    const advisor = pass({ kind: 'advisor_message', model: 'm', outputTokens: 3 });
    expect(fitPasses([...few, advisor, advisor]).passes).toEqual([
      pass({ inputTokens: 64 }),
      { ...advisor, outputTokens: 6 },
    ]);
  });

  it('have no model, and so no price, if there are too many models', () => {
    const models = Array.from({ length: 40 }, (_, index) => pass({ model: `m-${index}`, inputTokens: 1 }));
    expect(fitPasses(models).passes).toEqual([pass({ kind: 'several', model: 'several', inputTokens: 40 })]);
  });

  it('fit with the answer itself into what a request may count; others are left out', () => {
    const large = pass({ inputTokens: maxTokenCount - 5 });
    const given = [large, large, pass({ inputTokens: 5 }), pass({ inputTokens: 1 })];
    const fitting = { passes: [large, pass({ inputTokens: 5 })], isIncomplete: true };
    expect(fitPasses(given)).toEqual(fitting);
    expect(fitPasses([large], { inputTokens: 6 })).toEqual({ passes: [], isIncomplete: true });
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(maxTokenCount), fc.nat(maxTokenCount)), { maxLength: 50 }), (counts) => {
        const { passes } = fitPasses(counts.map(([inputTokens, outputTokens]) => pass({ inputTokens, outputTokens })));
        for (const name of ['inputTokens', 'outputTokens'] as const) {
          expect(passes.reduce((sum, each) => sum + each[name], 0)).toBeLessThanOrEqual(maxTokenCount);
        }
      }),
    );
  });
});

describe('a word of a provider', () => {
  it('is one that can be stored, and empty for what it serves by default', () => {
    expect(['fast', 'standard', null, 7, undefined].map((value) => servedWord(value, ['standard']))).toEqual([
      'fast',
      ...['', '', '', ''],
    ]);
    expect(nameIn(`a\0${'b'.repeat(200)}`)).toBe(`a${'b'.repeat(127)}`);
    expect(nameIn('\ud800').isWellFormed()).toBe(true);
  });

  it('names a tool with a valid number of calls', () => {
    const given = { web_search: 3, web_fetch: 0, x: -1, y: 1e15, z: null, '': 2 };
    expect(toolCallsIn(Object.entries(given))).toEqual([{ tool: 'web_search', calls: 3 }]);
  });
});
