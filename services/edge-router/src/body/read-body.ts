import { addAbortListener } from 'node:events';
import { IncomingMessage, type ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { GatewayError } from '@gateway/errors';
import { BufferList, JsonBody, JsonScanner, type TrackedStringOptions } from '@gateway/json';
import { cancelTimer, EventLoopYield, monotonicMs, startImmediate, startTimer, type Timer } from '@gateway/time';
import type { EdgeRouterConfig } from '../config.ts';
import { HttpFault } from '../errors/render-error.ts';
import type { BodyAllocation } from './body-memory.ts';
import { decoders, type Encoding, encodingNames, isEncoding, largestDecoderBytes } from './decoders.ts';
import { freeDecodedBytes } from './expansion-allowance.ts';

/** The bodies that an endpoint accepts. */
export interface BodyLimits {
  /** Applies to decoded bytes. */
  readonly limitBytes: number;
  readonly acceptsCompression: boolean;
}

/** The maximum memory that a body takes, including its decoder. */
export function maxBytesOf({ limitBytes, acceptsCompression }: BodyLimits): number {
  return limitBytes + (acceptsCompression ? largestDecoderBytes : 0);
}

/** How to read the body of one request. */
export interface BodyRules extends BodyLimits {
  /**
   * The minimum speed of an upload: the longest time without a byte, and the lowest number of bytes
   * per second over each window.
   */
  readonly pace: EdgeRouterConfig['uploadPace'];
  /** Accounts for its bytes in memory. */
  readonly allocation: BodyAllocation;
}

/**
 * Reads and checks a JSON body: encoding, size, decoding, grammar, in this order. Memory is
 * reserved as bytes arrive. A body is refused as soon as it is certain to be too large, before the
 * upload ends. A client that sent `Expect: 100-continue` gets `100 Continue` only here. The
 * last of the `tracked` strings is recorded: see `JsonBody.trackedString`. Throws
 * `unsupported_encoding`, `body_too_large`, `providers_unavailable`, `invalid_body`,
 * `invalid_json`, `invalid_request`, and a status 408 for an upload that is too slow.
 * @see spec "Size limits"
 */
export async function readBody(
  request: EdgeRequest,
  rules: BodyRules,
  tracked?: TrackedStringOptions,
): Promise<JsonBody> {
  const { limitBytes, acceptsCompression, pace, allocation } = rules;
  const encoding = encodingOf(request, acceptsCompression);
  const isEncoded = encoding !== 'identity';
  const declared = request.headers['content-length'];
  const maxSentBytes = isEncoded ? encodedLimitBytes(limitBytes) : limitBytes;
  if (Number(declared ?? 0) > maxSentBytes) throw tooLarge(limitBytes);
  request.inviteUpload();
  // If the size is known from the start, the body can't turn out to be too large.
  const exactBytes = isEncoded || declared === undefined ? undefined : Number(declared);
  const hasArrived = exactBytes === request.readableLength && exactBytes <= pieceBytes && !request.destroyed;
  const whole: Buffer | null = hasArrived ? request.read(exactBytes) : null;
  if (whole !== null) return readAtOnce(whole, allocation, tracked);
  const stop = exactBytes === undefined ? new AbortController() : undefined;
  const pieces = isEncoded ? decodeUpload(request, rules, encoding, stop) : receiveUpload(request, pace, stop?.signal);
  const scanner = new JsonScanner({ tracked });
  const yields = new EventLoopYield();
  let size = 0;
  let badJson: unknown;
  let patience: Timer | undefined;
  try {
    for await (const piece of pieces) {
      size += piece.length;
      if (size > limitBytes) throw tooLarge(limitBytes);
      // Yields to other requests.
      await yields.spend(piece.length);
      if (badJson !== undefined) continue;
      badJson = failureOf(() => scanner.push(piece));
      if (badJson === undefined) await allocation.add(piece, exactBytes ?? limitBytes);
      else if (stop === undefined) break;
      else {
        // Errors of size and decoding have precedence: the rest of the upload gets a moment to show
        // one, and is not kept.
        allocation[Symbol.dispose]();
        patience = startTimer(() => stop.abort(badJson), Math.min(badJsonPatienceMs, pace.idleMs));
      }
    }
  } catch (thrown) {
    if (badJson !== undefined && stop?.signal.reason === badJson) throw badJson;
    throw isStreamFault(thrown) ? brokenOff(thrown) : thrown;
  } finally {
    cancelTimer(patience);
  }
  badJson ??= failureOf(() => scanner.end());
  if (badJson !== undefined) throw badJson;
  return new JsonBody(new BufferList(allocation.pieces), scanner);
}

/** Reads a body that has already arrived, as small ones usually have. */
async function readAtOnce(body: Buffer, allocation: BodyAllocation, tracked?: TrackedStringOptions): Promise<JsonBody> {
  const scanner = new JsonScanner({ tracked });
  scanner.push(body);
  scanner.end();
  await allocation.add(body, body.length);
  return new JsonBody(new BufferList(allocation.pieces), scanner);
}

/** What is checked before the event loop turns to other work. */
const pieceBytes = 64 * 1024;

/** How long an upload may continue after it proved not to be JSON. */
const badJsonPatienceMs = 2_000;

/**
 * The encoding of a request body. Throws `unsupported_encoding` for one that the endpoint does not
 * accept.
 * @see spec "Codes"
 */
function encodingOf({ headers }: IncomingMessage, acceptsCompression: boolean): Encoding | 'identity' {
  const name = (headers['content-encoding'] ?? '').trim().toLowerCase() || 'identity';
  if (name === 'identity' || (acceptsCompression && isEncoding(name))) return name;
  const taken = acceptsCompression ? `accepts ${encodingNames.join(', ')}` : 'accepts no compression';
  throw new GatewayError('unsupported_encoding', `The content-encoding is not supported. This endpoint ${taken}.`);
}

function failureOf(act: () => void): unknown {
  try {
    act();
    return undefined;
  } catch (failure) {
    return failure;
  }
}

/**
 * No encoding makes a text this much longer, so a larger upload can only be an attempt to use up
 * memory.
 */
function encodedLimitBytes(limitBytes: number): number {
  return limitBytes + Math.ceil(limitBytes / 128) + 1_024;
}

function tooLarge(limitBytes: number): GatewayError {
  return new GatewayError(
    'body_too_large',
    `The body exceeds this endpoint's limit of ${limitBytes / 1024 / 1024} MiB.`,
  );
}

/** Errors of streams, sockets and decoders have a code. */
function isStreamFault(thrown: unknown): boolean {
  return thrown instanceof Error && !(thrown instanceof GatewayError) && 'code' in thrown;
}

function brokenOff(cause?: unknown): GatewayError {
  return new GatewayError('invalid_body', 'The body could not be decoded, or is incomplete.', { cause });
}

/**
 * The bytes of an encoded upload, decoded as they are read. The decoder's memory is reserved for
 * its lifetime. Throws what receiving throws, and an error when the bytes can't be decoded, end too
 * early or continue after their end. `stop` ends it with its abort reason.
 */
export async function* decodeUpload(
  request: EdgeRequest,
  { limitBytes, pace, allocation }: BodyRules,
  encoding: Encoding,
  stop = new AbortController(),
): AsyncGenerator<Buffer> {
  using memory = allocation.beside();
  await using upload = receiveUpload(request, pace, stop.signal);
  const first = await upload.next();
  if (first.done === true)
    throw new GatewayError('invalid_body', 'The body is empty, which is not valid in any encoding.');
  let size = 0;
  async function* permitted(): AsyncGenerator<Buffer> {
    for (let next: IteratorResult<Buffer> = first; next.done !== true; next = await upload.next()) {
      size += next.value.length;
      if (size > encodedLimitBytes(limitBytes)) throw tooLarge(limitBytes);
      using _permit = await allocation.decodingPermit(stop.signal);
      // Resumes when the decoder has taken all of it.
      yield next.value;
    }
  }
  const { open, fixedBytes, growingBytes } = decoders[encoding](first.value[0] ?? 0);
  await memory.take(fixedBytes);
  const decoder = open();
  // If it fails, the decoder fails, and so does the loop below.
  const feeding = pipeline(permitted(), decoder).catch(() => undefined);
  let decodedBytes = 0;
  let paidBytes = 0;
  try {
    for await (const piece of decoder) {
      decodedBytes += piece.length;
      const owedBytes = decodedBytes - freeDecodedBytes(size) - paidBytes;
      if (owedBytes > 0) await allocation.expand(owedBytes, stop.signal);
      paidBytes += Math.max(0, owedBytes);
      const growth = Math.min(piece.length, fixedBytes + growingBytes - memory.bytes);
      if (growth > 0) await memory.take(growth);
      yield piece;
    }
  } finally {
    stop.abort();
    await feeding;
  }
}

/**
 * The bytes of a request as they arrive. Throws what interrupts the upload: the client, an abort of
 * `signal`, or, with status 408, a speed below `pace`, which is measured only while a reader waits
 * for bytes. It never destroys the request, as Node's iterator would, because its connection still
 * owes an answer.
 */
export async function* receiveUpload(
  request: EdgeRequest,
  pace: BodyRules['pace'],
  signal?: AbortSignal,
): AsyncGenerator<Buffer> {
  let failure: unknown = request.fault;
  let wake = () => {};
  const onChange = () => wake();
  const fail = (thrown: unknown) => {
    failure ??= thrown;
    wake();
  };
  const onClose = () => {
    if (!request.readableEnded) fail(brokenOff());
  };
  request.on('readable', onChange).on('end', onChange).on('error', fail).on('close', onClose);
  using _stopping = signal && addAbortListener(signal, () => fail(signal.reason));
  let waitingSinceMs: number | undefined;
  using idleTimer = startTimer(() => {
    // Bytes that arrived while this process was busy are read before the decision.
    startImmediate(() => {
      if (waitingSinceMs === undefined || monotonicMs() - waitingSinceMs < pace.idleMs) return;
      fail(new HttpFault(408, `No bytes of the body arrived for ${pace.idleMs / 1_000} seconds.`));
    });
  }, pace.idleMs + 1);
  let windowMs = 0;
  let windowBytes = 0;
  try {
    for (;;) {
      waitingSinceMs ??= monotonicMs();
      const isLong = request.readableLength > pieceBytes;
      const chunk: Buffer | null = request.destroyed ? null : request.read(isLong ? pieceBytes : undefined);
      if (chunk === null) {
        if (request.readableEnded) return;
        if (request.destroyed) fail(brokenOff());
        if (failure !== undefined) throw failure;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        continue;
      }
      windowMs += monotonicMs() - waitingSinceMs;
      windowBytes += chunk.length;
      if (windowMs >= pace.windowMs) {
        if (windowBytes < (pace.leastBytesPerSecond * windowMs) / 1_000) throw tooSlow(pace);
        windowMs = 0;
        windowBytes = 0;
      }
      waitingSinceMs = undefined;
      yield chunk;
      idleTimer.refresh();
    }
  } finally {
    request.off('readable', onChange).off('end', onChange).off('error', fail).off('close', onClose);
  }
}

function tooSlow({ leastBytesPerSecond }: BodyRules['pace']): HttpFault {
  return new HttpFault(408, `The body arrived at less than ${leastBytesPerSecond} bytes per second.`);
}

/** A request, and the state of its upload. */
export class EdgeRequest extends IncomingMessage {
  /** What broke its upload. */
  fault: GatewayError | undefined;
  /** Its answer, while the client waits for `100 Continue`. */
  #invitation: ServerResponse | undefined;

  /** Whether the whole request has arrived. */
  get isReceived(): boolean {
    const { complete, headers } = this;
    return complete || (headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0);
  }

  /** Whether more of the body will arrive, as far as is known. */
  get isUploading(): boolean {
    return !this.isReceived && this.#invitation === undefined && this.fault === undefined && !this.destroyed;
  }

  /**
   * The client sends its body only after an invitation.
   * @see https://www.rfc-editor.org/rfc/rfc9110#section-10.1.1
   */
  deferUpload(response: ServerResponse): void {
    this.#invitation = response;
  }

  /** Invites a waiting client to send its body now. */
  inviteUpload(): void {
    this.#invitation?.writeContinue();
    this.#invitation = undefined;
  }

  /**
   * Ends an upload whose connection can deliver no more. Reading the body fails with `fault`, now
   * or later.
   */
  breakUpload(fault: GatewayError): void {
    this.fault = fault;
    if (this.listenerCount('error') > 0) this.emit('error', fault);
  }
}
