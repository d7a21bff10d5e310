import type { IncomingMessage } from 'node:http';
import { JsonBody, JsonSkimmer, PiecedBytes } from '@gateway/json';
import { awaitBody } from './await-body.ts';
import { BodyIntake } from './body-intake.ts';
import { type BodyRules, brokenOff, encodedLimitBytes, tooLarge } from './body-rules.ts';
import { bodyEncoding, decodeBody } from './decode-body.ts';
import { inviteUpload, noteReadToEnd, uploadFault } from './upload.ts';

export type { BodyRules } from './body-rules.ts';

/**
 * Reads and checks a JSON body: encoding, size, room, decodability, grammar, in this order. At once when it has been received
 * already. The size is refused as soon as it is certain, before the upload ends; a client that waits to be told to send its body
 * is told only now. The places of `notedKey` are noted on the way: see `JsonBody.notedKeyEnds`. Throws, at once or later, `unsupported_encoding`, `body_too_large`, `providers_unavailable`, `invalid_body`,
 * `invalid_json`, `invalid_request`.
 * @see spec "Size limits"
 */
export function readBody(request: IncomingMessage, rules: BodyRules, notedKey?: string): JsonBody | Promise<JsonBody> {
  const encoding = bodyEncoding(request, rules.acceptsCompression);
  const declaredBytes = declaredLength(request);
  const isPlain = encoding === 'identity';
  if ((declaredBytes ?? 0) > (isPlain ? rules.limitBytes : encodedLimitBytes(rules))) throw tooLarge(rules);
  const plainBytes = isPlain ? declaredBytes : undefined;
  const waiting = rules.hold?.reserve(plainBytes ?? unknownLengthBytes);
  const upload = { encoding, plainBytes, rules, notedKey };
  return waiting === undefined ? readUpload(request, upload) : waiting.then(() => readUpload(request, upload));
}

interface Upload {
  readonly encoding: ReturnType<typeof bodyEncoding>;
  /** How long the body is; undefined when that is not known before it is read. */
  readonly plainBytes: number | undefined;
  readonly rules: BodyRules;
  readonly notedKey: string | undefined;
}

/** There is room for it now. */
function readUpload(request: IncomingMessage, upload: Upload): JsonBody | Promise<JsonBody> {
  inviteUpload(request);
  return readReceived(request, upload) ?? readComing(request, upload);
}

/** Undefined when not all of it has come. Throws why it never will, when that is known. */
function readReceived(request: IncomingMessage, { plainBytes, notedKey }: Upload): JsonBody | undefined {
  const fault = uploadFault(request);
  if (fault !== undefined) throw fault;
  if (plainBytes === undefined || plainBytes !== request.readableLength) return undefined;
  return readWhole(request, plainBytes, new JsonSkimmer({ notedKey }));
}

async function readComing(request: IncomingMessage, upload: Upload): Promise<JsonBody> {
  // What came in one packet with the head is there as soon as the parser is through with that.
  await undefined;
  const received = readReceived(request, upload);
  if (received !== undefined) return received;
  const { encoding, plainBytes, rules, notedKey } = upload;
  const intake = new BodyIntake({
    rules,
    skimmer: new JsonSkimmer({ notedKey }),
    expectedBytes: plainBytes ?? unknownLengthBytes,
    sizeIsCertain: plainBytes !== undefined,
  });
  if (encoding === 'identity') return awaitBody(request, intake);
  return gather(undecodableAsInvalidBody(decodeBody(request, encoding, rules)), intake);
}

/** What is set aside for a body that does not say how long it will be. */
const unknownLengthBytes = 64 * 1024;

/**
 * A body that has been received already. Most are, and no more is received unread than others need no turn for. Saves the
 * reading of a stream, and a copy.
 */
function readWhole(request: IncomingMessage, bytes: number, skimmer: JsonSkimmer): JsonBody {
  // Taking all that is there lets a request end of which nothing more comes: its connection is not free for the next one before.
  const whole: unknown = bytes === 0 ? undefined : request.read();
  if (bytes === 0 || !request.complete) request.resume();
  noteReadToEnd(request);
  const body = whole instanceof Buffer ? whole : Buffer.alloc(0);
  skimmer.push(body);
  skimmer.end();
  return new JsonBody(new PiecedBytes([body]), skimmer);
}

async function gather(chunks: AsyncIterable<Buffer>, intake: BodyIntake): Promise<JsonBody> {
  for await (const chunk of chunks) {
    const turn = intake.take(chunk);
    if (turn !== undefined) await turn;
  }
  return intake.finish();
}

async function* undecodableAsInvalidBody(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield* chunks;
  } catch (cause) {
    throw brokenOff(cause);
  }
}

/** In bytes as they are sent. The HTTP parser has seen to it that it is a number. */
function declaredLength({ headers }: IncomingMessage): number | undefined {
  return headers['content-length'] === undefined ? undefined : Number(headers['content-length']);
}
