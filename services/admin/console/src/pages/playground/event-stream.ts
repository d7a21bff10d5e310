/** One event of a text/event-stream. Endpoints repeat its name in its data. */
export interface StreamEvent {
  /** The `data:` lines, joined by line feeds. */
  readonly data: string;
}

/**
 * Splits a text/event-stream that arrives in pieces. Comments and other fields are skipped.
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
 */
export class EventStream {
  #rest = '';
  #data: string[] = [];

  /** Takes the next piece. Returns the events that it completes. */
  push(text: string): readonly StreamEvent[] {
    const lines = (this.#rest + text).split(lineEnd);
    this.#rest = lines.pop() ?? '';
    return lines.flatMap((line) => this.#takeLine(line));
  }

  #takeLine(line: string): readonly StreamEvent[] {
    if (line === '') {
      const data = this.#data;
      this.#data = [];
      return data.length === 0 ? [] : [{ data: data.join('\n') }];
    }
    if (line.startsWith('data:')) this.#data.push(line.slice(line[5] === ' ' ? 6 : 5));
    return [];
  }
}

/** Only the character after a CR shows whether it is a line end alone. */
const lineEnd = /\r\n|\n|\r(?!\n|$)/;
