import type Anthropic from '@anthropic-ai/sdk';
import { createChatAnswer } from '@gateway/chat';
import { describe, expect, it } from 'vitest';
import { answerCases } from './__fixtures__/golden-cases.ts';
import type { ProviderBlock, ProviderDelta } from './__fixtures__/provider-events.ts';
import { readerOptions } from './__fixtures__/replay.ts';
import { EventReader, silentTypes } from './event-reader.ts';

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

describe('an event that can not be read', () => {
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
