import { describe, expect, it } from 'vitest';
import { mapFinishReason } from './answer-writer.ts';

describe('mapFinishReason', () => {
  it('knows a complete answer from one that calls tools', () => {
    const complete = { status: 'completed', incompleteReason: undefined } as const;
    expect(mapFinishReason({ ...complete, hasToolCalls: false })).toBe('stop');
    expect(mapFinishReason({ ...complete, hasToolCalls: true })).toBe('tool_calls');
  });

  it.each([
    ['max_output_tokens', 'length'],
    ['content_filter', 'content_filter'],
    ['max_messages', 'length'],
    [undefined, 'length'],
  ])('makes of an answer that is incomplete for %s the reason %s', (incompleteReason, expected) => {
    expect(mapFinishReason({ status: 'incomplete', incompleteReason, hasToolCalls: true })).toBe(expected);
  });
});
