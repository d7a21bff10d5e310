import type { AnswerReader } from '@gateway/adapter-kit';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyAnswer } from './__fixtures__/arbitrary-events.ts';
import { frame, newReader, newRelayReader } from './__fixtures__/replay.ts';

const readers = [
  { dialect: 'chat', open: () => newReader() },
  { dialect: 'chat, not streamed', open: () => newReader({ stream: false }) },
  { dialect: 'Responses', open: newRelayReader },
] satisfies readonly { dialect: string; open: () => AnswerReader }[];

describe.each(readers)('reasoning that a client of $dialect waits for', ({ open }) => {
  it('is open exactly while one of its items is, in any answer', () => {
    fc.assert(
      fc.property(anyAnswer, ({ events }) => {
        const reader = open();
        let openItems = 0;
        let hasBegun = false;
        for (const event of events) {
          reader.push(Buffer.from(frame({ ...event })));
          if ('item' in event && event.item.type === 'reasoning') {
            openItems = Math.max(0, openItems + (event.type === 'response.output_item.added' ? 1 : -1));
            hasBegun = true;
          }
          expect(reader.reasoning).toBe(openItems > 0 ? 'open' : hasBegun ? 'over' : undefined);
        }
      }),
      { numRuns: 200 },
    );
  });

  it.each(['reasoning', 'compaction'])('shows that the model works as soon as it begins: %s', (type) => {
    const reader = open();
    const push = (event: Parameters<typeof frame>[0]) => reader.push(Buffer.from(frame(event)));
    push({ type: 'response.created', response: { id: 'r' } });
    push({ type: 'keepalive' });
    expect(reader.reasoning).toBeUndefined();
    push({ type: 'response.output_item.added', output_index: 0, item: { type, id: 'rs' } });
    expect(reader.reasoning).toBe('open');
    push({ type: 'keepalive' });
    expect(reader.reasoning).toBe('open');
    push({ type: 'response.output_item.done', output_index: 0, item: { type, id: 'rs' } });
    expect(reader.reasoning).toBe('over');
  });

  it('is worth the more of what is shown and its encrypted form', () => {
    const done = (text: string, encrypted: string) => {
      const reader = open();
      const item = { type: 'reasoning', summary: [{ type: 'summary_text', text }], encrypted_content: encrypted };
      reader.push(Buffer.from(frame({ type: 'response.output_item.done', output_index: 0, item })));
      return reader.producedCharacters;
    };
    expect(done('Hm', 'x'.repeat(400_000))).toBe(240_000);
    expect(done('x'.repeat(90), 'x'.repeat(100))).toBe(90);
  });
});
