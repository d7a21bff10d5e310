import type { FinishReason } from '@gateway/chat';

/**
 * Why the answer ended. A reason that is not known, or none, ends it like any other answer.
 * @see https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons
 */
export function mapFinishReason(stopReason: string | undefined, hasToolCalls: boolean): FinishReason {
  switch (stopReason) {
    case 'end_turn':
    case 'stop_sequence':
    case 'pause_turn':
    case 'compaction':
      return 'stop';
    case 'max_tokens':
    case 'model_context_window_exceeded':
      return 'length';
    case 'tool_use':
      return 'tool_calls';
    case 'refusal':
      return 'content_filter';
    default:
      // Clients run the tools of an answer only when its reason says so.
      return hasToolCalls ? 'tool_calls' : 'stop';
  }
}
