/** What HTTP/2 calls things, as far as one stream of gRPC needs it. @see https://www.rfc-editor.org/rfc/rfc9113 */
export const frameType = {
  data: 0,
  headers: 1,
  priority: 2,
  resetStream: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

export const frameFlag = { ack: 0x01, endStream: 0x01, endHeaders: 0x04, padded: 0x08, priority: 0x20 } as const;

export const setting = {
  enablePush: 2,
  maxConcurrentStreams: 3,
  initialWindowSize: 4,
  maxFrameSize: 5,
  maxHeaderListSize: 6,
  /**
   * Ours: the client opens one stream on this connection, and it is a stream of calls. Whoever does not know a setting
   * ignores it, and no proxy passes it on, so it is known to come from the other end of the connection.
   */
  onlyStreamOfCalls: 0xf6c5,
} as const;

export const errorCode = {
  noError: 0,
  protocolError: 1,
  internalError: 2,
  flowControlError: 3,
  streamClosed: 5,
  frameSizeError: 6,
  refusedStream: 7,
  cancel: 8,
  compressionError: 9,
  enhanceYourCalm: 11,
} as const;

export type ErrorCode = (typeof errorCode)[keyof typeof errorCode];

/** The peer broke HTTP/2's rules. It is told the code, and the connection ends. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** What a client's bytes begin with. */
export const clientPreface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');

/** Length (3 bytes), type, flags, stream (4 bytes). */
export const frameHeadBytes = 9;

export const settingBytes = 6;

/** What holds until the peer's settings say otherwise. */
export const defaultWindowBytes = 65_535;
export const defaultMaxFrameBytes = 16_384;

/** What we take: a batch of calls fits into one frame. */
export const ownMaxFrameBytes = 1024 * 1024;

export const largestWindowBytes = 2 ** 31 - 1;
export const largestFrameBytes = 2 ** 24 - 1;

/** The stream of calls: the first one that a client opens. */
export const theStream = 1;
