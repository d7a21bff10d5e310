import type { AnswerReader } from '@gateway/adapter-kit';
import { asObject, type JsonObject, parseJson } from '@gateway/json';
import { readEvent } from '@gateway/sse';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { arbitraryStream } from './__fixtures__/arbitrary-events.ts';
import { newReader, newRelayReader } from './__fixtures__/replay.ts';

const readers = [
  { dialect: 'chat', open: () => newReader(true) },
  { dialect: 'chat, not streamed', open: () => newReader(false) },
  { dialect: 'Messages', open: newRelayReader },
] satisfies readonly { dialect: string; open: () => AnswerReader }[];

describe.each(readers)('thinking that a client of $dialect waits for', ({ open }) => {
  it('is open exactly while one of its blocks is, in any answer', () => {
    fc.assert(
      fc.property(arbitraryStream, ({ frames }) => {
        const reader = open();
        const openAt = new Set<unknown>();
        let hasBegun = false;
        for (const frame of frames) {
          reader.push(Buffer.from(frame));
          const { type, index, content_block: block } = eventOf(frame);
          if (type === 'content_block_start' && thinkingTypes.includes(asObject(block)?.type)) {
            openAt.add(index);
            hasBegun = true;
          }
          if (type === 'content_block_stop') openAt.delete(index);
          expect(reader.reasoning).toBe(openAt.size > 0 ? 'open' : hasBegun ? 'over' : undefined);
        }
      }),
      { numRuns: 200 },
    );
  });

  it.each([
    ['omitted thinking', { type: 'thinking', thinking: '', signature: '' }],
    ['redacted thinking', { type: 'redacted_thinking', data: 'x'.repeat(1_000) }],
    ['a compaction', { type: 'compaction', content: null }],
  ])('shows that the model works as soon as it begins: %s', (_what, block) => {
    const reader = open();
    reader.push(frameOf({ type: 'message_start', message: { id: 'm', usage: { input_tokens: 1, output_tokens: 1 } } }));
    reader.push(frameOf({ type: 'ping' }));
    expect(reader.reasoning).toBeUndefined();
    reader.push(frameOf({ type: 'content_block_start', index: 0, content_block: block }));
    expect(reader.reasoning).toBe('open');
    reader.push(frameOf({ type: 'ping' }));
    expect(reader.reasoning).toBe('open');
    reader.push(frameOf({ type: 'content_block_stop', index: 0 }));
    expect(reader.reasoning).toBe('over');
  });

  it('is over where its blocks come whole, at the beginning of a message', () => {
    const reader = open();
    const content = [{ type: 'thinking', thinking: 'Hm', signature: 'x'.repeat(500) }];
    reader.push(frameOf({ type: 'message_start', message: { id: 'm', content } }));
    expect(reader.reasoning).toBe('over');
    expect(reader.producedCharacters).toBe(2);
  });

  it('is worth its encrypted form where nothing else of it is shown', () => {
    const reader = open();
    reader.push(frameOf({ type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '' } }));
    const delta = { type: 'signature_delta', signature: 'x'.repeat(400_000) };
    reader.push(frameOf({ type: 'content_block_delta', index: 0, delta }));
    expect(reader.producedCharacters).toBe(240_000);
  });
});

const thinkingTypes: readonly unknown[] = ['thinking', 'redacted_thinking', 'compaction'];

function frameOf(event: JsonObject): Buffer {
  return Buffer.from(`event: ${String(event.type)}\ndata: ${JSON.stringify(event)}\n\n`);
}

function eventOf(frame: string): JsonObject {
  return asObject(parseJson(readEvent(Buffer.from(frame)).data ?? '')) ?? {};
}
