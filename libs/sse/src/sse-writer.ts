/** One event without a name. `data` is one line, as JSON texts are. */
export function sseData(data: string): string {
  return `data: ${data}\n\n`;
}

/** One event with a name. `data` is one line, as JSON texts are. */
export function sseEvent(event: string, data: string): string {
  return `event: ${event}\ndata: ${data}\n\n`;
}

/** A line that every reader skips: keeps a quiet connection alive. `text` is one line. */
export function sseComment(text: string): string {
  return `: ${text}\n\n`;
}
