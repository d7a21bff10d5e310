import type { Socket } from 'node:net';

/** A connection as its requests see it. */
export interface ProviderConnection {
  /** How many answers have ended on it. */
  served: number;
  /** Part of the current answer has arrived. */
  readonly hasPart: boolean;
  /** Called when a request starts on it. */
  onRequest(): void;
}

/** What is known of the answers on a connection. */
export interface AnswerState {
  /** A request was sent, and its answer has not begun. */
  awaitsAnswer: boolean;
  /** Part of something has arrived that may be an answer. */
  hasPart: boolean;
}

/**
 * Removes informational answers (`100 Continue`) from what is read of a socket before an answer. A
 * server may send them without being asked, and a client must ignore them; undici would end the
 * connection.
 * @see https://www.rfc-editor.org/rfc/rfc9110#section-15.2
 */
export function skipInformational(socket: Socket, state: AnswerState): Socket {
  const read = socket.read.bind(socket);
  let held: Buffer = nothing;
  socket.read = (size?: number): Buffer | null => {
    for (;;) {
      const chunk: Buffer | null = read(size);
      if (chunk === null || !state.awaitsAnswer) return chunk;
      held = afterInformational(held.length === 0 ? chunk : Buffer.concat([held, chunk]));
      state.hasPart = held.length > 0;
      if (mayBeInformational(held)) continue;
      const answer = held;
      held = nothing;
      state.awaitsAnswer = false;
      return answer;
    }
  };
  return socket;
}

/** The bytes after all complete informational answers. */
function afterInformational(bytes: Buffer): Buffer {
  let rest = bytes;
  while (startsInformational(rest)) {
    const end = rest.indexOf('\r\n\r\n');
    if (end < 0) break;
    rest = rest.subarray(end + 4);
  }
  return rest;
}

/** Whether more bytes decide. Longer ones are left to the parser, which refuses them. */
function mayBeInformational(bytes: Buffer): boolean {
  return startsInformational(bytes) && bytes.length < maxHeldBytes;
}

/** Whether the bytes are, or may become, such an answer; 101 ends the exchange of messages. */
function startsInformational(bytes: Buffer): boolean {
  const text = bytes.toString('latin1', 0, start.length + 2);
  return text.length <= start.length ? start.startsWith(text) : text.startsWith(start) && !text.endsWith('101');
}

const start = 'HTTP/1.1 1';
const maxHeldBytes = 32 * 1024;
const nothing = Buffer.alloc(0);
