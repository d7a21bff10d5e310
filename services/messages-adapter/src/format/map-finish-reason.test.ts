import type Anthropic from '@anthropic-ai/sdk';
import type { FinishReason } from '@gateway/chat';
import { describe, expect, it } from 'vitest';
import { mapFinishReason } from './answer-writer.ts';

const byContent = { without: 'stop', with: 'tool_calls' } as const;
const length = { without: 'length', with: 'length' } as const;

/**
 * All reasons of the provider's client library, without and with calls: a reason that a new version
 * adds must be entered here.
 */
const finishReasons = {
  end_turn: byContent,
  stop_sequence: byContent,
  pause_turn: byContent,
  compaction: byContent,
  tool_use: byContent,
  max_tokens: length,
  model_context_window_exceeded: length,
  refusal: { without: 'content_filter', with: 'content_filter' },
} satisfies Record<
  Anthropic.StopReason | Anthropic.Beta.BetaStopReason,
  Readonly<Record<'with' | 'without', FinishReason>>
>;

describe('mapFinishReason', () => {
  it.each(Object.entries(finishReasons))('%s ends an answer without and with calls: %j', (stopReason, expected) => {
    expect(mapFinishReason(stopReason, false)).toBe(expected.without);
    expect(mapFinishReason(stopReason, true)).toBe(expected.with);
  });

  it.each(['novelty', '', 'END_TURN', undefined])(
    '%j, which is not known, depends on whether there are calls',
    (stopReason) => {
      expect(mapFinishReason(stopReason, false)).toBe('stop');
      expect(mapFinishReason(stopReason, true)).toBe('tool_calls');
    },
  );
});
