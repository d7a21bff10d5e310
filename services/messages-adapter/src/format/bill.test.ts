import { createChatAnswer, maxTokenCount, type ReportedUsage, wholeUsage } from '@gateway/chat';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { feed, readerOptions } from './__fixtures__/replay.ts';
import { EventReader } from './event-reader.ts';
import { RelayAnswerReader } from './relay-answer-reader.ts';
import { RelayMessageReader } from './relay-message-reader.ts';
import { UsageReports } from './usage-reports.ts';

const top = { input_tokens: 23_000, output_tokens: 1_000 };
const own = { type: 'message', ...top };
const compaction = { type: 'compaction', input_tokens: 180_000, output_tokens: 3_500 };
const advisor = { type: 'advisor_message', model: 'claude-x', input_tokens: 500, output_tokens: 40 };

describe('the passes of an answer', () => {
  it.each<[string, unknown, readonly [number, number]]>([
    ['a compaction', [compaction, own], [203_000, 4_500]],
    ['a compaction after the answer', [own, compaction], [203_000, 4_500]],
    ['a compaction without a pass of the answer', [compaction], [203_000, 4_500]],
    ['an advisor', [own, advisor, { ...own, input_tokens: 1 }], [23_500, 1_040]],
    ['two compactions', [compaction, compaction, own], [383_000, 8_000]],
    ['a pass of an unknown type', [{ ...compaction, type: 'later' }, own], [203_000, 4_500]],
    ['a pass without a type', [{ ...compaction, type: null }], [203_000, 4_500]],
    [
      'what declined models and the fallback used',
      [own, { ...own, type: 'fallback_message', model: 'b' }],
      [23_000, 1_000],
    ],
    [
      'a pass with cached input',
      [{ ...compaction, cache_read_input_tokens: 5, cache_creation_input_tokens: 6 }],
      [203_011, 4_500],
    ],
    ['no passes', null, [23_000, 1_000]],
    ['an empty list', [], [23_000, 1_000]],
    ['what is no list', { 0: compaction }, [23_000, 1_000]],
    ['what is no pass', [null, 7, 'compaction', [compaction]], [23_000, 1_000]],
    ['a pass of no tokens', [{ ...compaction, input_tokens: 0, output_tokens: 0 }], [23_000, 1_000]],
  ])('are billed beside it: %s', (_what, iterations, [inputTokens, outputTokens]) => {
    const { reported } = usageAfter({ ...top, iterations });
    expect(billed(reported)).toEqual([inputTokens, outputTokens]);
    expect(reported?.billing?.isIncomplete ?? false).toBe(false);
  });

  it.each<[string, object, readonly [number, number]]>([
    ['below zero', { input_tokens: -1 }, [23_000, 4_500]],
    ['too large', { output_tokens: 1e15 }, [203_000, 1_000]],
    ['a fraction', { input_tokens: 0.5, output_tokens: 0.5 }, [23_000, 1_000]],
    ['a text', { output_tokens: '3500' }, [203_000, 1_000]],
    ['absent', { output_tokens: undefined }, [203_000, 1_000]],
    ['null', { input_tokens: null }, [23_000, 4_500]],
    ['of cached input', { cache_read_input_tokens: -5 }, [203_000, 4_500]],
    ['too large with the others', { input_tokens: maxTokenCount, cache_read_input_tokens: 1 }, [23_000, 1_000]],
    ['too large with the answer', { input_tokens: maxTokenCount }, [23_000, 1_000]],
  ])('count as not reported, and the answer as estimated, if a count is %s', (_what, members, counts) => {
    const { reported } = usageAfter({ ...top, iterations: [{ ...compaction, ...members }] });
    expect(billed(reported)).toEqual(counts);
    expect(reported?.billing?.isIncomplete).toBe(true);
  });

  it('have cache writes of both lifetimes and the model that they name', () => {
    const written = { cache_creation_input_tokens: 30, cache_creation: { ephemeral_1h_input_tokens: 10 } };
    const { reported } = usageAfter({ ...top, iterations: [{ ...advisor, ...written, cache_read_input_tokens: 7 }] });
    expect(reported?.billing?.passes).toEqual([
      {
        ...{ kind: 'advisor_message', model: 'claude-x', inputTokens: 537, cachedTokens: 7 },
        ...{ cacheWrite5mTokens: 20, cacheWrite1hTokens: 10, outputTokens: 40 },
      },
    ]);
  });

  it('are all that is billed if the answer stopped after a compaction', () => {
    const { reported } = usageAfter({ input_tokens: 0, output_tokens: 0, iterations: [compaction] });
    expect(billed(reported)).toEqual([180_000, 3_500]);
    // An answer with input of zero and words of its own has not been counted.
    expect(wholeUsage(reported, 5)).toBeUndefined();
  });

  it('are known although nothing of the answer itself was reported', () => {
    const { reported } = usageAfter({ iterations: [compaction, own] });
    expect(reported).toMatchObject({ inputTokens: undefined, billing: { passes: [{ inputTokens: 180_000 }] } });
  });

  it('are counted once, however often and in which order they are reported, and never fall', () => {
    const count = fc.option(fc.oneof(fc.nat(9_000), fc.constantFrom(-1, 1e15, 0.5)), { nil: undefined });
    const pass = fc.record({
      type: fc.constantFrom('compaction', 'advisor_message', 'message', 'other'),
      model: fc.constantFrom(null, 'a', 'b'),
      input_tokens: count,
      cache_read_input_tokens: count,
      output_tokens: count,
    });
    const list = fc.array(pass, { maxLength: 8 });
    fc.assert(
      fc.property(list, fc.nat(8), fc.nat(8), (passes, first, second) => {
        const usage = usageAfter({ ...top, iterations: passes });
        const whole = usage.reported;
        const valid = (value: number | undefined) =>
          Number.isInteger(value) && Number(value) > 0 && Number(value) < 1e15 ? Number(value) : 0;
        const others = passes.filter(({ type }) => type !== 'message');
        expect(billed(whole)).toEqual([
          others.reduce((sum, each) => sum + valid(each.input_tokens) + valid(each.cache_read_input_tokens), 23_000),
          others.reduce((sum, each) => sum + valid(each.output_tokens), 1_000),
        ]);
        for (const iterations of [passes.slice(0, first), null, passes, passes.slice(0, second), undefined]) {
          usage.add({ ...top, iterations });
          expect(usage.reported).toEqual(whole);
        }
        const grown = usageAfter({ ...top, iterations: passes.slice(0, first) });
        grown.add({ ...top, iterations: passes });
        expect(billed(grown.reported)).toEqual(billed(whole));
      }),
    );
  });

  it('are counted up to 5,000 of them, and more are known to be missing', () => {
    const passes = (length: number) => Array.from({ length }, () => compaction);
    expect(usageAfter({ ...top, iterations: passes(5_000) }).reported?.billing?.isIncomplete ?? false).toBe(false);
    expect(usageAfter({ ...top, iterations: passes(5_001) }).reported?.billing?.isIncomplete).toBe(true);
  });

  it('are counted in a stream, in a whole message and in one that is too large to hold, on relay and chat', () => {
    const many = Array.from({ length: 1_000 }, () => ({ ...compaction, model: null, cache_creation: null }));
    for (const [iterations, expected] of [
      [
        [compaction, own],
        [203_000, 4_500],
      ],
      [
        [...many, own],
        [23_000 + 1_000 * 180_000, 1_000 + 1_000 * 3_500],
      ],
    ] as const) {
      const usage = { ...top, iterations };
      const stream = eventsOf(usage);
      const relay = new RelayAnswerReader(2_000_000);
      expect(feed(relay, [stream]).toString()).toBe(stream.toString());
      expect(billed(relay.reportedUsage)).toEqual(expected);
      const chat = createChatAnswer({ id: 'r', created: 1, model: 'm', stream: false, includeUsage: true });
      const reader = new EventReader(chat, { ...readerOptions, maxEventBytes: 2_000_000 });
      const completion = JSON.parse(feed(reader, [stream]).toString());
      const [prompt_tokens, completion_tokens] = expected;
      expect(completion.usage).toMatchObject({ prompt_tokens, completion_tokens });
      const content = [{ type: 'text', text: 'x'.repeat(200_000) }];
      const message = Buffer.from(
        JSON.stringify({ id: 'msg', type: 'message', content, usage, stop_reason: 'end_turn' }),
      );
      for (const maxHeldBytes of [10_000_000, 1_000]) {
        const whole = new RelayMessageReader(maxHeldBytes);
        const chunks = Array.from({ length: Math.ceil(message.length / 9_000) }, (_, at) =>
          message.subarray(at * 9_000, (at + 1) * 9_000),
        );
        expect(feed(whole, chunks).equals(message)).toBe(true);
        expect(billed(whole.reportedUsage)).toEqual(expected);
      }
    }
  });
});

describe('how an answer was served', () => {
  it('is what its usage says; what the provider serves by default has no name', () => {
    const served = { service_tier: 'priority', speed: 'fast', inference_geo: 'us' };
    const usual = { service_tier: 'standard', speed: 'standard', inference_geo: 'global' };
    expect(usageAfter({ ...top, ...served }).reported?.billing).toMatchObject({
      ...{ serviceTier: 'priority', speed: 'fast', geography: 'us' },
    });
    for (const usage of [usual, { ...usual, inference_geo: 'not_available' }, { service_tier: null, speed: 7 }]) {
      expect(usageAfter({ ...top, ...usage }).reported?.billing).toBeUndefined();
    }
    const later = usageAfter({ ...top, ...served });
    later.add({ ...top, speed: null });
    expect(later.reported?.billing).toMatchObject({ serviceTier: 'priority', speed: 'fast' });
  });

  it('includes the model of a fallback and the calls of server tools, whose number never falls', () => {
    const fallback = [own, { ...own, type: 'fallback_message', model: 'claude-y' }];
    const usage = usageAfter({ ...top, iterations: fallback, server_tool_use: { web_search_requests: 2 } });
    usage.add({ ...top, server_tool_use: { web_search_requests: 1, web_fetch_requests: 3, x_requests: -1, y: 4 } });
    usage.add({ ...top, server_tool_use: null });
    expect(usage.reported?.billing).toMatchObject({
      model: 'claude-y',
      toolCalls: [
        { tool: 'web_search', calls: 2 },
        { tool: 'web_fetch', calls: 3 },
      ],
    });
  });
});

function usageAfter(usage: unknown): UsageReports {
  const reports = new UsageReports();
  reports.add(usage);
  return reports;
}

/** Input and output as chat shows them. */
function billed(reported: ReportedUsage | undefined): readonly unknown[] {
  const usage = wholeUsage(reported, 0);
  return [usage?.inputTokens, usage?.outputTokens];
}

function eventsOf(usage: object): Buffer {
  const events = [
    {
      type: 'message_start',
      message: { id: 'msg', type: 'message', model: 'm', usage: { input_tokens: 5, output_tokens: 1 } },
    },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hi' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: null }, usage },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage },
    { type: 'message_stop' },
  ];
  return Buffer.from(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''));
}
