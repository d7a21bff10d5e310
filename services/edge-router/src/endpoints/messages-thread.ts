import type { JsonBody } from '@gateway/json';

/**
 * A thread's state is kept by the account that made its messages: what continues a message must reach the same account.
 * A request uses threads by its top-level `thread`.
 */
export function usesThread(body: JsonBody): boolean {
  return body.member('thread') !== undefined;
}

/** The message that a request continues: `thread.previous_message_id`. */
export function continuedAnswerId(body: JsonBody): string | undefined {
  const thread = usesThread(body) ? body.value('thread') : undefined;
  if (typeof thread !== 'object' || thread === null || !('previous_message_id' in thread)) return undefined;
  return typeof thread.previous_message_id === 'string' ? thread.previous_message_id : undefined;
}
