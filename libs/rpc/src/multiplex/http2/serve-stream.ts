import type { Socket } from 'node:net';
import { serverWindowBytes } from '../../grpc-options.ts';
import { statusNumber } from '../../status-number.ts';
import type { BatchListener, BatchTransport } from '../batch-transport.ts';
import { openPath } from '../grpc-streams.ts';
import { headersFrame, resetStreamFrame, settingsFrame, windowUpdateFrame } from './frames.ts';
import { GrpcStream, violation } from './grpc-stream.ts';
import type { Headers } from './header-blocks.ts';
import { largestListBytes } from './hpack/header-decoder.ts';
import { encodeHeaders } from './hpack/header-encoder.ts';
import { clientPreface, defaultWindowBytes, errorCode, ownMaxFrameBytes, setting, theStream } from './protocol.ts';

/** A connection that one of our own clients has opened, and its stream of calls. */
export interface ServedStream {
  /** Ends it, if its client has not opened the stream yet. */
  endUnopened(): void;
}

/**
 * Serves a connection whose client has said that it opens a stream of calls on it and nothing else. `opening` is what
 * has been read of it so far, from the first byte on.
 */
export function serveStream(
  socket: Socket,
  opening: Buffer,
  listen: (transport: BatchTransport) => BatchListener,
): ServedStream {
  const stream = new ServerStream(socket, listen);
  stream.take(opening);
  return stream;
}

/** The server's end. */
class ServerStream extends GrpcStream implements ServedStream {
  readonly #listen: (transport: BatchTransport) => BatchListener;
  readonly #opening: NodeJS.Timeout;
  #lastStreamId = theStream;

  constructor(socket: Socket, listen: (transport: BatchTransport) => BatchListener) {
    super(socket, limits);
    this.#listen = listen;
    this.#opening = setTimeout(() => this.endUnopened(), longestOpeningMs).unref();
    this.connection.write(greeting);
  }

  take(opening: Buffer): void {
    this.connection.read(opening.subarray(clientPreface.length));
  }

  endUnopened(): void {
    if (!this.hasBegun) this.connection.leave(errorCode.noError, 'no stream was opened');
  }

  onHeaders({ streamId, fields, isLast }: Headers): void {
    if (streamId !== theStream) return this.#refuse(streamId);
    if (!this.hasBegun) return this.#onRequest(fields, isLast);
    if (!isLast) throw violation('headers follow headers');
    this.onEnd();
  }

  onOtherStream(streamId: number): void {
    if (!isOfClient(streamId) || streamId > this.#lastStreamId)
      throw violation('the client speaks of a stream that it did not open');
  }

  protected lastFrame(): Buffer {
    return headersFrame(theStream, encodeHeaders([{ name: 'grpc-status', value: '0' }]), true);
  }

  #onRequest(fields: Headers['fields'], isLast: boolean): void {
    clearTimeout(this.#opening);
    const isStreamOfCalls = fields.get(':method') === 'POST' && fields.get(':path') === openPath;
    if (!isStreamOfCalls) return this.#refuseCall();
    this.begin();
    this.connection.write(headersFrame(theStream, answer, false));
    this.tell(this.#listen(this));
    if (isLast) this.onEnd();
  }

  #refuseCall(): void {
    const failure = [
      { name: 'grpc-status', value: String(statusNumber.UNIMPLEMENTED) },
      { name: 'grpc-message', value: 'This connection carries a stream of calls only.' },
    ];
    this.connection.write(headersFrame(theStream, encodeHeaders([...answerFields, ...failure]), true));
    this.connection.leave(errorCode.noError);
  }

  /** One stream is all that this connection takes. Nothing was done for another, so it can be opened elsewhere. */
  #refuse(streamId: number): void {
    if (!isOfClient(streamId)) throw violation('a client may not open a stream of that number');
    this.#lastStreamId = Math.max(this.#lastStreamId, streamId);
    this.connection.write(resetStreamFrame(streamId, errorCode.refusedStream));
  }
}

function isOfClient(streamId: number): boolean {
  return streamId % 2 === 1;
}

const limits = { windowBytes: serverWindowBytes, maxFrameBytes: ownMaxFrameBytes };

/** All that the server says before it has read anything. */
const greeting = Buffer.concat([
  settingsFrame([
    [setting.maxConcurrentStreams, 1],
    [setting.initialWindowSize, limits.windowBytes],
    [setting.maxFrameSize, limits.maxFrameBytes],
    [setting.maxHeaderListSize, largestListBytes],
  ]),
  windowUpdateFrame(0, limits.windowBytes - defaultWindowBytes),
]);

const answerFields = [
  { name: ':status', value: '200' },
  { name: 'content-type', value: 'application/grpc' },
];

const answer = encodeHeaders(answerFields);

/** How long a client may take to open its stream. */
const longestOpeningMs = 5_000;
