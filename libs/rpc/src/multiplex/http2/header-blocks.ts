import type { Frame } from './frame-reader.ts';
import { HeaderDecoder, largestListBytes } from './hpack/header-decoder.ts';
import { ConnectionError, errorCode, frameFlag, frameType } from './protocol.ts';

/** The headers or trailers of a stream. */
export interface Headers {
  readonly streamId: number;
  readonly fields: ReadonlyMap<string, string>;
  /** Nothing follows on this stream. */
  readonly isLast: boolean;
}

/** Puts header blocks together: a frame of HEADERS, and what continues it. */
export class HeaderBlocks {
  readonly #decoder = new HeaderDecoder();
  #open: OpenBlock | undefined;

  /** A block that has begun must be continued before anything else comes. */
  admit(type: number, streamId: number): void {
    const isContinuation = type === frameType.continuation;
    if (this.#open === undefined ? !isContinuation : isContinuation && streamId === this.#open.streamId) return;
    throw new ConnectionError(errorCode.protocolError, 'a header block is not continued as it should be');
  }

  /** The headers that this frame completes. */
  onFrame({ type, flags, streamId, payload }: Frame): Headers | undefined {
    const open = this.#open ?? { streamId, isLast: (flags & frameFlag.endStream) !== 0, fragments: [], size: 0 };
    this.#open = open;
    const fragment = type === frameType.headers ? fragmentOf(payload, flags) : payload;
    open.fragments.push(fragment);
    // An empty fragment counts too, so that their number is bounded.
    open.size += fragment.length + 1;
    if (open.size > largestListBytes)
      throw new ConnectionError(errorCode.enhanceYourCalm, 'a header block is too large');
    if ((flags & frameFlag.endHeaders) === 0) return undefined;
    this.#open = undefined;
    const fields = this.#decoder.decode(Buffer.concat(open.fragments));
    return { streamId: open.streamId, isLast: open.isLast, fields };
  }
}

interface OpenBlock {
  readonly streamId: number;
  readonly isLast: boolean;
  readonly fragments: Buffer[];
  size: number;
}

/** A frame of HEADERS without what may stand around its fragment. */
function fragmentOf(payload: Buffer, flags: number): Buffer {
  const isPadded = (flags & frameFlag.padded) !== 0;
  const paddingBytes = isPadded ? (payload[0] ?? 0) : 0;
  const start = (isPadded ? 1 : 0) + ((flags & frameFlag.priority) === 0 ? 0 : priorityBytes);
  const end = payload.length - paddingBytes;
  if (start > end) throw new ConnectionError(errorCode.protocolError, 'there is more padding than frame');
  return payload.subarray(start, end);
}

const priorityBytes = 5;
