import { EventSplitter } from '@gateway/sse';

/** A way to send the same events in other bytes. */
export interface Rewriting {
  readonly rewrite: (stream: Buffer) => Buffer;
  /** Text, one character for each byte, without what the rewriting adds. */
  readonly plain: (text: string) => string;
}

/**
 * Ways to send the same events in other bytes.
 * @param isLast true for an event after which providers send nothing
 */
export function rewritingsOf(ping: string, isLast: (event: Buffer) => boolean): Readonly<Record<string, Rewriting>> {
  return {
    'its own bytes': { rewrite: (stream) => stream, plain: (text) => text },
    'CRLF line ends': withLineEnds('\r\n'),
    'CR line ends': withLineEnds('\r'),
    'a byte order mark': {
      rewrite: (stream) => (stream.length === 0 ? stream : Buffer.concat([Buffer.from('\ufeff'), stream])),
      plain: (text) => text,
    },
    'comments in events': {
      rewrite: (stream) =>
        eachEvent(stream, isLast, (event) => event.replace(/^[^\r\n]+(?:\r\n|\r|\n)/, `$&${comment}\n`)),
      plain: (text) => text.replaceAll(`${comment}\n`, ''),
    },
    'comments between events': before(`${comment}\n\n`, isLast),
    'pings between events': before(ping, isLast),
  };
}

/** The events of a stream, the last of which may be incomplete. Joined, they equal the stream. */
export function eventsOf(stream: Buffer): readonly Buffer[] {
  const events: Buffer[] = [];
  const splitter = new EventSplitter({ maxEventBytes: stream.length, onEvent: (event) => events.push(event) });
  splitter.push(stream);
  const rest = splitter.end();
  return rest.length === 0 ? events : [...events, rest];
}

/** True for bytes that are one JSON object, whole or broken off, in the place of a stream. */
export function isObject(stream: Buffer): boolean {
  return stream.toString().trimStart().startsWith('{');
}

const comment = ': still here';

function withLineEnds(lineEnd: string): Rewriting {
  const rewritten = (text: string) => text.replaceAll(/\r\n|\r|\n/g, lineEnd);
  return { rewrite: (stream) => Buffer.from(rewritten(stream.toString('latin1')), 'latin1'), plain: rewritten };
}

function before(added: string, isLast: (event: Buffer) => boolean): Rewriting {
  return {
    rewrite: (stream) => eachEvent(stream, isLast, (event) => added + event),
    plain: (text) => text.replaceAll(added, ''),
  };
}

/**
 * Rewrites the events up to the last one, which may be followed by a marker or a comment. An object
 * has no events.
 */
function eachEvent(stream: Buffer, isLast: (event: Buffer) => boolean, rewrite: (event: string) => string): Buffer {
  if (isObject(stream)) return stream;
  const events = eventsOf(stream);
  const last = events.findIndex(isLast);
  return Buffer.concat(
    events.map((event, index) =>
      last >= 0 && index > last ? event : Buffer.from(rewrite(event.toString('latin1')), 'latin1'),
    ),
  );
}
