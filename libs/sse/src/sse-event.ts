/** One event of a text/event-stream. */
export interface SseEvent {
  /** The `event:` line, or "message" when there was none. */
  readonly event: string;
  /** The `data:` lines joined with "\n". */
  readonly data: string;
}
