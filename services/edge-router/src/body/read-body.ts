import type { IncomingMessage } from 'node:http';
import { GatewayError } from '@gateway/errors';
import { BufferList, JsonBody, JsonScanner } from '@gateway/json';
import { EventLoopYield } from '@gateway/time';
import { BodyBuffer } from './body-buffer.ts';
import type { BodyAllocation } from './body-memory.ts';
import { decodeBody, type Encoding, encodingNames, isEncoding } from './decode-body.ts';
import { inviteUpload, receiveUpload, type UploadPace } from './receive-upload.ts';

/** What an endpoint takes for a body. */
export interface BodyLimits {
  /** Counted on decoded bytes. */
  readonly limitBytes: number;
  readonly acceptsCompression: boolean;
}

/** How the body of one request is read. */
export interface BodyRules extends BodyLimits {
  readonly pace: UploadPace;
  /** Where its bytes are accounted while they are in memory. */
  readonly allocation: BodyAllocation;
}

/**
 * Reads and checks a JSON body: encoding, size, decodability, grammar, in this order. Memory is taken as bytes arrive. The size is
 * refused as soon as it is certain, before the upload ends; a client that waits to be asked for its body is asked only now. The
 * places of `trackedKey` are noted on the way: see `JsonBody.trackedKeyEnds`. Throws `unsupported_encoding`, `body_too_large`,
 * `providers_unavailable`, `invalid_body`, `invalid_json`, `invalid_request`, and a status 408 for an upload that is too slow.
 * @see spec "Size limits"
 */
export async function readBody(request: IncomingMessage, rules: BodyRules, trackedKey?: string): Promise<JsonBody> {
  const { limitBytes, acceptsCompression, pace, allocation } = rules;
  const encoding = encodingOf(request, acceptsCompression);
  const declaredBytes = request.headers['content-length'];
  const mostSentBytes = encoding === 'identity' ? limitBytes : encodedLimitBytes(limitBytes);
  if (Number(declaredBytes ?? 0) > mostSentBytes) throw tooLarge(limitBytes);
  inviteUpload(request);
  const stop = new AbortController();
  const upload = atMost(mostSentBytes, receiveUpload(request, pace, stop.signal), limitBytes);
  const sizeIsCertain = encoding === 'identity' && declaredBytes !== undefined;
  const read = (pieces: AsyncIterable<Buffer>) => gather(pieces, { rules, sizeIsCertain, trackedKey });
  const stopReceiving = (thrown: unknown) => {
    stop.abort();
    throw thrown;
  };
  try {
    if (encoding === 'identity') return await read(upload);
    const permit = () => allocation.decodingPermit(stop.signal);
    return await decodeBody(upload, { encoding, permit, read: (pieces) => read(pieces).catch(stopReceiving) });
  } catch (thrown) {
    throw isStreamFault(thrown) ? brokenOff(thrown) : thrown;
  }
}

/** How a request body is encoded. Throws `unsupported_encoding` for what the endpoint does not take. @see spec "Codes" */
function encodingOf({ headers }: IncomingMessage, acceptsCompression: boolean): Encoding | 'identity' {
  const name = (headers['content-encoding'] ?? '').trim().toLowerCase() || 'identity';
  if (name === 'identity' || (acceptsCompression && isEncoding(name))) return name;
  const taken = acceptsCompression ? `takes ${encodingNames.join(', ')}` : 'takes no compression';
  throw new GatewayError('unsupported_encoding', `The content-encoding is not supported. This endpoint ${taken}.`);
}

interface Gathering {
  readonly rules: BodyRules;
  /** The body can't turn out too large any more. */
  readonly sizeIsCertain: boolean;
  readonly trackedKey: string | undefined;
}

/** Keeps the bytes and checks them as they come. Much of them takes its turns with other requests. */
async function gather(
  pieces: AsyncIterable<Buffer>,
  { rules: { limitBytes, allocation }, sizeIsCertain, trackedKey }: Gathering,
): Promise<JsonBody> {
  const scanner = new JsonScanner({ trackedKey });
  const bytes = new BodyBuffer(limitBytes, allocation);
  const turns = new EventLoopYield();
  let size = 0;
  let badJson: unknown;
  for await (const piece of pieces) {
    size += piece.length;
    if (size > limitBytes) throw tooLarge(limitBytes);
    await turns.spend(piece.length);
    if (badJson !== undefined) continue;
    badJson = failureOf(() => scanner.push(piece));
    if (badJson === undefined) await bytes.add(piece);
    else if (sizeIsCertain) throw badJson;
    // Read on to the end and keep nothing: too large, or undecodable, comes first among the errors.
    else bytes.clear();
  }
  badJson ??= failureOf(() => scanner.end());
  if (badJson !== undefined) throw badJson;
  return new JsonBody(new BufferList(bytes.pieces), scanner);
}

function failureOf(act: () => void): unknown {
  try {
    act();
    return undefined;
  } catch (failure) {
    return failure;
  }
}

/** No encoding makes a text so much longer: what is over this is sent to be received, not to be decoded. */
function encodedLimitBytes(limitBytes: number): number {
  return limitBytes + Math.ceil(limitBytes / 128) + 1_024;
}

async function* atMost(mostBytes: number, encoded: AsyncIterable<Buffer>, limitBytes: number): AsyncGenerator<Buffer> {
  let size = 0;
  for await (const chunk of encoded) {
    size += chunk.length;
    if (size > mostBytes) throw tooLarge(limitBytes);
    yield chunk;
  }
}

function tooLarge(limitBytes: number): GatewayError {
  return new GatewayError(
    'body_too_large',
    `The body is over this endpoint's limit of ${limitBytes / 1024 / 1024} MiB.`,
  );
}

/** Errors of streams, sockets and decoders have a code. */
function isStreamFault(thrown: unknown): boolean {
  return thrown instanceof Error && !(thrown instanceof GatewayError) && 'code' in thrown;
}

function brokenOff(cause: unknown): GatewayError {
  return new GatewayError('invalid_body', 'The body could not be decoded, or it broke off.', { cause });
}
