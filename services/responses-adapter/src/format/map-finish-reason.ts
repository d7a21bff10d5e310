import type { FinishReason } from '@gateway/chat';

/** How a response ended that is an answer; the others are failures. */
export type AnsweredStatus = 'completed' | 'incomplete';

export interface ResponseEnding {
  readonly status: AnsweredStatus;
  /** `incomplete_details.reason` */
  readonly incompleteReason: string | undefined;
  readonly hasToolCalls: boolean;
}

/** An incomplete answer was cut short: by a content filter, or else by length, whatever reason it gives. */
export function mapFinishReason({ status, incompleteReason, hasToolCalls }: ResponseEnding): FinishReason {
  if (status === 'incomplete') return incompleteReason === 'content_filter' ? 'content_filter' : 'length';
  return hasToolCalls ? 'tool_calls' : 'stop';
}
