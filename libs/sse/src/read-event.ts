/** What one event of a text/event-stream says. */
export interface SseEvent {
  /** The `event:` line; empty when there was none. */
  readonly name: string;
  /** The `data:` lines joined with "\n". Undefined when there was none: browsers take such a block for no event. */
  readonly data: string | undefined;
}

/**
 * Reads the lines of one event, as EventSplitter gives it. A byte order mark before them is skipped, and so are comments and
 * other fields.
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
 */
export function readEvent(bytes: Buffer): SseEvent {
  const text = bytes.toString('utf8', hasByteOrderMark(bytes) ? 3 : 0);
  let name = '';
  let data: string | undefined;
  for (const line of text.split(text.includes('\r') ? anyLineEnd : '\n')) {
    if (isField(line, 'data')) data = data === undefined ? valueAfter(line, 4) : `${data}\n${valueAfter(line, 4)}`;
    else if (isField(line, 'event')) name = valueAfter(line, 5);
  }
  return { name, data };
}

const anyLineEnd = /\r\n|\r|\n/;

function hasByteOrderMark(bytes: Buffer): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
}

function isField(line: string, name: string): boolean {
  return line.startsWith(name) && (line.length === name.length || line[name.length] === ':');
}

/** What follows the colon and one space. A field without a colon has an empty value. */
function valueAfter(line: string, nameLength: number): string {
  return line.slice(nameLength + (line[nameLength + 1] === ' ' ? 2 : 1));
}
