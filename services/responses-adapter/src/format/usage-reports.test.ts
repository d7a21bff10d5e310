import { describe, expect, it } from 'vitest';
import { UsageReports } from './usage-reports.ts';

const usage = { input_tokens: 100, output_tokens: 50 };
const counts = { inputTokens: 100, cachedTokens: 0, outputTokens: 50, reasoningTokens: 0 };

describe('the usage of a response', () => {
  it('has cache writes of both lifetimes, as parts of the input', () => {
    const written = (details: object) => after({ usage: { ...usage, input_tokens_details: details } });
    expect(written({ cache_write_tokens: 30, cache_write_tokens_details: { ttl_12h_tokens: 10 } })).toMatchObject({
      ...{ inputTokens: 100, cacheCreationTokens: 30, cacheCreation1hTokens: 10 },
    });
    const byLifetime = { ttl_12h_tokens: 10, ttl_30m_tokens: 5 };
    expect(written({ cache_write_tokens_details: byLifetime })).toMatchObject({
      ...{ cacheCreationTokens: 15, cacheCreation1hTokens: 10 },
    });
    for (const wrong of [{ cache_write_tokens: -1 }, { cache_write_tokens: '7' }, { cache_write_tokens: null }, []]) {
      expect(written(wrong)).toEqual(counts);
    }
  });

  it('names the service tier that served it, which may be another than was asked for', () => {
    const reports = new UsageReports();
    reports.onResponse({ service_tier: 'flex', usage: null });
    expect(reports.reported?.billing?.serviceTier).toBe('flex');
    reports.onResponse({ service_tier: 'priority', usage });
    expect(reports.reported).toMatchObject({ ...counts, billing: { serviceTier: 'priority' } });
    reports.onResponse({ usage });
    expect(reports.reported?.billing?.serviceTier).toBe('priority');
    reports.onResponse({ service_tier: 'default', usage });
    expect(reports.reported).toEqual(counts);
    expect(after({ service_tier: 'auto', usage })).toEqual(counts);
  });

  it('counts the calls of the provider’s tools once, by items or by what is billed of them', () => {
    const items = [
      { type: 'web_search_call', action: { type: 'search' } },
      { type: 'web_search_call' },
      { type: 'web_search_call', action: { type: 'open_page' } },
      { type: 'code_interpreter_call' },
      { type: 'file_search_call' },
      { type: 'shell_call', environment: { type: 'container_reference' } },
      { type: 'shell_call', environment: { type: 'local' } },
      { type: 'function_call' },
      { type: 'message' },
      null,
    ];
    const callsAfter = (doneItems: readonly unknown[], response: object) =>
      Object.fromEntries(
        (after({ usage, ...response }, doneItems)?.billing?.toolCalls ?? []).map(({ tool, calls }) => [tool, calls]),
      );
    const expected = { web_search: 2, code_interpreter: 1, file_search: 1, shell: 1 };
    expect(callsAfter(items, { output: items })).toEqual(expected);
    expect(callsAfter(items, { output: [] })).toEqual(expected);
    expect(callsAfter([], { output: items })).toEqual(expected);
    const billed = {
      tool_usage: { web_search: { num_requests: 1 }, image_gen: { input_tokens: 0, output_tokens: 0 } },
    };
    expect(callsAfter(items, { output: items, ...billed })).toEqual({ ...expected, web_search: 1 });
    expect(callsAfter(items, { tool_usage: { web_search: { num_requests: 0 } } })).not.toHaveProperty('web_search');
    expect(callsAfter(items, { tool_usage: { web_search: { num_requests: -1 } } })).toEqual(expected);
  });

  it('includes the tokens of images, of their own model, and then no calls', () => {
    const image_gen = { input_tokens: 40, output_tokens: 4_000, cached_tokens: 8, total_tokens: 4_040 };
    const response = { usage, tool_usage: { image_gen }, output: [{ type: 'image_generation_call' }] };
    const pass = { kind: 'image_gen', inputTokens: 40, cachedTokens: 8, outputTokens: 4_000 };
    const tools = [{ type: 'function' }, { type: 'image_generation', model: 'gpt-image-2' }];
    expect(after({ ...response, tools })?.billing).toMatchObject({
      passes: [{ ...pass, model: 'gpt-image-2' }],
      toolCalls: [],
    });
    expect(after(response)?.billing?.passes).toMatchObject([{ ...pass, model: 'image_gen' }]);
    expect(after({ usage, output: response.output })?.billing?.toolCalls).toEqual([
      { tool: 'image_generation', calls: 1 },
    ]);
  });

  it('keeps calls although a backend reports no tokens', () => {
    expect(after({ usage: null }, [{ type: 'web_search_call' }])).toMatchObject({
      inputTokens: undefined,
      billing: { toolCalls: [{ tool: 'web_search', calls: 1 }] },
    });
    expect(after({ usage: null }, [{ type: 'message' }])).toBeUndefined();
  });
});

function after(response: object, doneItems: readonly unknown[] = []) {
  const reports = new UsageReports();
  for (const item of doneItems) reports.onItemDone(item);
  reports.onResponse({ ...response });
  return reports.reported;
}
