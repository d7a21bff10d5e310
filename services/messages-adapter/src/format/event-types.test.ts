import type Anthropic from '@anthropic-ai/sdk';
import { framed } from '@gateway/adapter-kit/testing';
import { describe, expect, it } from 'vitest';
import type { ProviderBlock, ProviderDelta } from './__fixtures__/answers/events.ts';
import { answerCases } from './__fixtures__/answers/index.ts';
import { silentTypes } from './event-types.ts';
import { parseProviderEvent } from './parse-event.ts';

type EventType = (Anthropic.RawMessageStreamEvent | Anthropic.Beta.BetaRawMessageStreamEvent)['type'];
type BlockType = (Anthropic.RawContentBlockStartEvent['content_block'] | ProviderBlock)['type'];
type DeltaType = (Anthropic.RawContentBlockDelta | ProviderDelta)['type'];

/** All types of the provider's client library: one that a new version brings must find its place here. */
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
    expect(parseProviderEvent(eventOf({ type }), '').kind).toBe('known');
  });

  it.each(Object.entries(blocks))('block %s is %s', (type, treatment) => {
    const parsed = parseProviderEvent(eventOf({ type: 'content_block_start', content_block: contentOf(type) }), '');
    expect(parsed).toMatchObject({
      kind: 'known',
      event: { block: treatment === 'read' ? { type } : { type: 'other', isKnown: true } },
    });
  });

  it.each(Object.entries(deltas))('delta %s is %s', (type, treatment) => {
    const parsed = parseProviderEvent(eventOf({ type: 'content_block_delta', delta: contentOf(type) }), '');
    expect(parsed.kind).toBe(treatment === 'read' ? 'known' : 'silent');
  });

  it('are all that is listed as skipped, besides pings', () => {
    expect([...silentTypes.events]).toEqual(['ping']);
    expect(silentTypes.blocks).toEqual(new Set(skippedOf(blocks)));
    expect(silentTypes.deltas).toEqual(new Set(skippedOf(deltas)));
  });

  it('all occur among the known answers', () => {
    const streams = answerCases.map((answer) => framed(answer.events)).join('');
    const missing = [events, blocks, deltas]
      .flatMap(Object.keys)
      .filter((type) => !streams.includes(`"type":"${type}"`));
    expect(missing).toEqual([]);
  });

  it('are told from types that are yet to come', () => {
    expect(parseProviderEvent({ type: 'novelty' }, '').kind).toBe('unknown');
    const block = { type: 'content_block_start', index: 0, content_block: { type: 'novelty' } };
    expect(parseProviderEvent(block, '')).toMatchObject({ event: { block: { type: 'other', isKnown: false } } });
    expect(parseProviderEvent(eventOf({ type: 'content_block_delta', delta: { type: 'novelty' } }), '').kind).toBe(
      'unknown',
    );
  });
});

/** An event with everything that some event can't do without. */
function eventOf(members: object): object {
  return { index: 0, content_block: contentOf('text'), delta: contentOf('text_delta'), ...members };
}

function contentOf(type: string): object {
  return { type, id: 'toolu_01', name: 'look', text: '', partial_json: '' };
}

function skippedOf(treatments: Readonly<Record<string, Treatment>>): readonly string[] {
  return Object.keys(treatments).filter((type) => treatments[type] === 'skipped');
}
