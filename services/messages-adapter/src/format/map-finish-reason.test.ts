import type Anthropic from '@anthropic-ai/sdk';
import type { FinishReason } from '@gateway/chat';
import { describe, expect, it } from 'vitest';
import { mapFinishReason } from './answer-writer.ts';

/** All of the provider's client library: one that a new version brings must find its place here. */
const finishReasons = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  pause_turn: 'stop',
  compaction: 'stop',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  tool_use: 'tool_calls',
  refusal: 'content_filter',
} satisfies Record<Anthropic.StopReason | Anthropic.Beta.BetaStopReason, FinishReason>;

describe('mapFinishReason', () => {
  it.each(Object.entries(finishReasons))('%s is %s, with calls and without', (stopReason, finishReason) => {
    expect(mapFinishReason(stopReason, false)).toBe(finishReason);
    expect(mapFinishReason(stopReason, true)).toBe(finishReason);
  });

  it.each(['novelty', '', 'END_TURN', undefined])(
    '%j, which is not known, depends on whether there are calls',
    (stopReason) => {
      expect(mapFinishReason(stopReason, false)).toBe('stop');
      expect(mapFinishReason(stopReason, true)).toBe('tool_calls');
    },
  );
});
