import type Anthropic from '@anthropic-ai/sdk';
import { createChatAnswer, maxTokenCount } from '@gateway/chat';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { answerCases } from './__fixtures__/golden-cases.ts';
import type { ProviderBlock, ProviderDelta } from './__fixtures__/provider-events.ts';
import { readerOptions } from './__fixtures__/replay.ts';
import { EventReader, silentTypes } from './event-reader.ts';
import { UsageReports } from './usage-reports.ts';

type EventType = (Anthropic.RawMessageStreamEvent | Anthropic.Beta.BetaRawMessageStreamEvent)['type'];
type BlockType = (Anthropic.RawContentBlockStartEvent['content_block'] | ProviderBlock)['type'];
type DeltaType = (Anthropic.RawContentBlockDelta | ProviderDelta)['type'];

/**
 * All types of the provider's client library: a type that a new version adds must be entered here.
 */
const events = {
  message_start: 'read',
  content_block_start: 'read',
  content_block_delta: 'read',
  content_block_stop: 'read',
  message_delta: 'read',
  message_stop: 'read',
} satisfies Record<EventType, Treatment>;

const blocks = {
  text: 'read',
  tool_use: 'read',
  thinking: 'skipped',
  redacted_thinking: 'skipped',
  server_tool_use: 'skipped',
  web_search_tool_result: 'skipped',
  web_fetch_tool_result: 'skipped',
  code_execution_tool_result: 'skipped',
  bash_code_execution_tool_result: 'skipped',
  text_editor_code_execution_tool_result: 'skipped',
  tool_search_tool_result: 'skipped',
  advisor_tool_result: 'skipped',
  mcp_tool_use: 'skipped',
  mcp_tool_result: 'skipped',
  mcp_tool_listing: 'skipped',
  container_upload: 'skipped',
  compaction: 'skipped',
  fallback: 'skipped',
} satisfies Record<BlockType, Treatment>;

const deltas = {
  text_delta: 'read',
  input_json_delta: 'read',
  thinking_delta: 'read',
  signature_delta: 'skipped',
  citations_delta: 'skipped',
  compaction_delta: 'skipped',
} satisfies Record<DeltaType, Treatment>;

type Treatment = 'read' | 'skipped';

describe("the types of the provider's client library", () => {
  it.each(Object.keys(events))('event %s is read', (type) => {
    expect(silentTypes.events.has(type)).toBe(false);
    expect(read(eventOf({ type })).unknownEvents).toBe(0);
  });

  it.each(Object.entries(blocks))('block %s is %s', (type, treatment) => {
    expect(silentTypes.blocks.has(type)).toBe(treatment === 'skipped');
    const block = contentOf(type);
    expect(read(eventOf({ type: 'content_block_start', content_block: block }))).toMatchObject({
      unknownEvents: 0,
      wrote: treatment === 'read',
      ending: undefined,
    });
  });

  it.each(Object.entries(deltas))('delta %s is %s', (type, treatment) => {
    expect(silentTypes.deltas.has(type)).toBe(treatment === 'skipped');
    const { unknownEvents, ending } = read(eventOf({ type: 'content_block_delta', delta: contentOf(type) }));
    expect({ unknownEvents, ending }).toEqual({ unknownEvents: 0, ending: undefined });
  });

  it('are all that is listed as skipped, besides pings', () => {
    expect([...silentTypes.events]).toEqual(['ping']);
    expect(silentTypes.blocks).toEqual(new Set(skippedOf(blocks)));
    expect(silentTypes.deltas).toEqual(new Set(skippedOf(deltas)));
  });

  it('all occur among the known answers', () => {
    const streams = answerCases.map(({ stream }) => stream.toString()).join('');
    const missing = [events, blocks, deltas]
      .flatMap(Object.keys)
      .filter((type) => !streams.includes(`"type":"${type}"`));
    expect(missing).toEqual([]);
  });

  it('differ from types that are yet to come', () => {
    expect(read({ type: 'novelty' }).unknownEvents).toBe(1);
    const block = { type: 'content_block_start', index: 0, content_block: { type: 'novelty' } };
    expect(read(block)).toMatchObject({ unknownEvents: 1, wrote: false, ending: undefined });
    expect(read(eventOf({ type: 'content_block_delta', delta: { type: 'novelty' } })).unknownEvents).toBe(1);
  });
});

describe('an event that cannot be read', () => {
  it.each([
    ['a block without a type', { type: 'content_block_start', content_block: {} }],
    ['a call without an id', { type: 'content_block_start', content_block: { type: 'tool_use', name: 'look' } }],
    ['a block without an index', { type: 'content_block_start', index: undefined }],
    ['a delta without its text', { type: 'content_block_delta', delta: { type: 'text_delta' } }],
    ['a delta without an index', { type: 'content_block_delta', index: -1 }],
    ['an end without an index', { type: 'content_block_stop', index: '0' }],
  ])('breaks the answer: %s', (_what, members) => {
    expect(read(eventOf(members)).ending).toMatchObject({ kind: 'failed' });
  });
});

describe('usage', () => {
  it('adds cached input to the input', () => {
    const reported = {
      input_tokens: 4,
      cache_creation_input_tokens: 120,
      cache_read_input_tokens: 2_048,
      output_tokens: 7,
    };
    expect(usageAfter(reported)).toEqual({
      inputTokens: 2_172,
      cachedTokens: 2_048,
      cacheCreationTokens: 120,
      outputTokens: 7,
      reasoningTokens: 0,
    });
  });

  it('says how much was written to the cache for an hour, if the provider says it', () => {
    const writes = (cache_creation: unknown, created: number | null = 120) => {
      const { cacheCreationTokens, cacheCreation1hTokens, inputTokens } =
        usageAfter({ input_tokens: 4, cache_creation_input_tokens: created, cache_creation, output_tokens: 7 }) ?? {};
      return [inputTokens, cacheCreationTokens, cacheCreation1hTokens];
    };
    const both = { ephemeral_5m_input_tokens: 20, ephemeral_1h_input_tokens: 100 };
    expect(writes(both)).toEqual([124, 120, 100]);
    expect(writes(both, null)).toEqual([124, 120, 100]);
    expect(writes({ ephemeral_1h_input_tokens: 120 })).toEqual([124, 120, 120]);
    for (const older of [null, undefined, {}, { ephemeral_5m_input_tokens: 120 }, 'x']) {
      expect(writes(older)).toEqual([124, 120, undefined]);
    }
    // Rows of counts that contradict each other, or can't be true.
    expect(writes({ ephemeral_1h_input_tokens: 500 })).toEqual([124, 120, 120]);
    for (const count of [-1, 0.5, '7', 1e15, {}]) {
      expect(writes({ ephemeral_1h_input_tokens: count })).toEqual([124, 120, undefined]);
    }
    const later = { output_tokens: 9, cache_creation: { ephemeral_1h_input_tokens: 0 } };
    const first = { input_tokens: 4, cache_creation_input_tokens: 120, cache_creation: both };
    expect(usageAfter(first, later)).toMatchObject({ inputTokens: 124, cacheCreation1hTokens: 100 });
  });

  it('is replaced by a later report, but not by what that leaves out', () => {
    const first = { input_tokens: 10, cache_read_input_tokens: 5, output_tokens: 1 };
    const later = {
      input_tokens: null,
      output_tokens: 30,
      output_tokens_details: { thinking_tokens: 20 },
    };
    expect(usageAfter(first, later)).toEqual({
      inputTokens: 15,
      cachedTokens: 5,
      outputTokens: 30,
      reasoningTokens: 20,
    });
  });

  it.each([
    null,
    undefined,
    'x',
    {},
    { input_tokens: null },
    { input_tokens: -1 },
    { input_tokens: 0, output_tokens: 0 },
    { input_tokens: '7', output_tokens: 1e15 },
  ])('is not reported by %j', (usage) => {
    expect(usageAfter(usage)).toBeUndefined();
  });

  const unbelievable = [-1, 0.5, '7', 1e15, 2 ** 40 + 1, Number.NaN, {}, true];

  it.each(unbelievable)('leaves the input unknown when a part of it is %j', (count) => {
    for (const part of ['input_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens']) {
      const usage = usageAfter({ input_tokens: 5, output_tokens: 7, [part]: count });
      expect(usage).toMatchObject({ inputTokens: undefined, outputTokens: 7 });
    }
  });

  it.each(unbelievable)('keeps the input it knew when a later report has %j', (count) => {
    const first = { input_tokens: 10, cache_read_input_tokens: 5, output_tokens: 1 };
    const later = { input_tokens: count, cache_read_input_tokens: count, output_tokens: 9 };
    expect(usageAfter(first, later)).toMatchObject({
      inputTokens: 15,
      cachedTokens: 5,
      outputTokens: 9,
    });
  });

  it.each(unbelievable)('does not take the count of the first output tokens for a total of %j', (count) => {
    const first = { input_tokens: 10, output_tokens: 1 };
    const later = { output_tokens: count };
    expect(usageAfter(first, later)).toMatchObject({ inputTokens: 10, outputTokens: undefined });
  });

  it('believes a later report of what was unbelievable', () => {
    const first = { input_tokens: -1, cache_read_input_tokens: 1e15, output_tokens: 1 };
    const later = { input_tokens: 4, cache_read_input_tokens: 6, output_tokens: 9 };
    expect(usageAfter(first, later)).toMatchObject({
      inputTokens: 10,
      cachedTokens: 6,
      outputTokens: 9,
    });
  });

  it('does not know the input when its parts are more than any request has', () => {
    const usage = usageAfter({ input_tokens: maxTokenCount, cache_read_input_tokens: 1, output_tokens: 1 });
    expect(usage).toMatchObject({ inputTokens: undefined, cachedTokens: 1 });
  });

  it('is not lowered by a later zero, and not by a later absence', () => {
    const first = { input_tokens: 4_522, cache_creation_input_tokens: 100, cache_read_input_tokens: 50 };
    const known = { inputTokens: 4_672, cachedTokens: 50, cacheCreationTokens: 100, outputTokens: 7 };
    for (const later of [
      { input_tokens: 0 },
      {},
      { input_tokens: 0, cache_read_input_tokens: 0 },
      { input_tokens: 3 },
    ]) {
      expect(usageAfter(first, { ...later, output_tokens: 7 })).toMatchObject(known);
    }
  });

  it('is not known when its input is zero throughout', () => {
    const zero = { input_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 7 };
    expect(usageAfter(zero, zero)).toMatchObject({ inputTokens: undefined, outputTokens: 7 });
  });

  const count = fc.option(fc.oneof(fc.nat(9), fc.nat(), fc.maxSafeInteger(), fc.double(), fc.string()));
  const anyReport = fc.oneof(
    fc.record({
      input_tokens: count,
      cache_creation_input_tokens: count,
      cache_creation: fc.option(
        fc.record({ ephemeral_5m_input_tokens: count, ephemeral_1h_input_tokens: count }, { requiredKeys: [] }),
      ),
      cache_read_input_tokens: count,
      output_tokens: count,
      output_tokens_details: fc.option(fc.record({ thinking_tokens: count })),
    }),
    fc.jsonValue(),
  );

  it('never falls, whatever is reported in whatever order', () => {
    fc.assert(
      fc.property(fc.array(anyReport), (reports) => {
        const usage = new UsageReports();
        // The output at the start of an answer is not a total, and the total may remain unknown.
        usage.begin({ input_tokens: 0 });
        let before = booked(usage.reported);
        for (const report of reports) {
          usage.add(report);
          const after = booked(usage.reported);
          expect(after.map((count, at) => count >= (before[at] ?? 0))).not.toContain(false);
          before = after;
        }
      }),
      { numRuns: 1_000 },
    );
  });

  it('is at least what each report says, and no more when it is repeated', () => {
    const tokens = fc.nat(100_000);
    const report = fc.record({
      input_tokens: tokens,
      cache_creation_input_tokens: tokens,
      cache_read_input_tokens: tokens,
      output_tokens: tokens,
    });
    fc.assert(
      fc.property(fc.array(report, { minLength: 1 }), (reports) => {
        const usage = usageAfter(...reports);
        for (const { input_tokens, cache_creation_input_tokens, cache_read_input_tokens, output_tokens } of reports) {
          const input = input_tokens + cache_creation_input_tokens + cache_read_input_tokens;
          expect(usage?.inputTokens ?? 0).toBeGreaterThanOrEqual(input);
          expect(usage?.outputTokens ?? 0).toBeGreaterThanOrEqual(output_tokens);
        }
        expect(usageAfter(...reports, reports.at(-1))).toEqual(usage);
      }),
    );
  });

  it('never has more cached than input, or more reasoning than output tokens', () => {
    fc.assert(
      fc.property(fc.array(anyReport), (reports) => {
        const usage = usageAfter(...reports);
        if (usage === undefined) return;
        expect(usage.cachedTokens).toBeLessThanOrEqual(usage.inputTokens ?? maxTokenCount);
        expect(usage.reasoningTokens).toBeLessThanOrEqual(usage.outputTokens ?? maxTokenCount);
        expect(usage.cacheCreation1hTokens ?? 0).toBeLessThanOrEqual(usage.cacheCreationTokens ?? 0);
        const counts = Object.values(usage).filter((count) => count !== undefined);
        expect(counts.every((count) => Number.isInteger(count) && count >= 0 && count <= maxTokenCount)).toBe(true);
      }),
    );
  });
});

/** The result of reading one event. */
function read(event: object) {
  const answer = createChatAnswer({ id: 'r', created: 1, model: 'm', stream: true, includeUsage: false });
  const reader = new EventReader(answer, readerOptions);
  reader.push(Buffer.from(`data: ${JSON.stringify(event)}\n\n`));
  return { unknownEvents: reader.unknownEvents, ending: reader.result, wrote: answer.hasContent };
}

/** An event with every member that some event requires. */
function eventOf(members: object): object {
  return { index: 0, content_block: contentOf('text'), delta: contentOf('text_delta'), ...members };
}

function contentOf(type: string): object {
  return { type, id: 'toolu_01', name: 'look', text: 'Hi', partial_json: '' };
}

function skippedOf(treatments: Readonly<Record<string, Treatment>>): readonly string[] {
  return Object.keys(treatments).filter((type) => treatments[type] === 'skipped');
}

/** The tokens that would be charged if estimates of unknown counts were zero. */
function booked(reported: UsageReports['reported']): readonly number[] {
  const { inputTokens = 0, outputTokens = 0, cachedTokens = 0, reasoningTokens = 0 } = reported ?? {};
  return [inputTokens, outputTokens, Math.min(cachedTokens, inputTokens), Math.min(reasoningTokens, outputTokens)];
}

function usageAfter(...reports: readonly unknown[]) {
  const usage = new UsageReports();
  usage.begin(reports[0]);
  for (const report of reports.slice(1)) usage.add(report);
  return usage.reported;
}
