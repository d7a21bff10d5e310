import { EventSplitter, readEvent } from '@gateway/sse';
import { monotonicMs, timeoutSignal } from '@gateway/time';
import type { ShadowRequest } from './requests.ts';

/** A gateway, with a key for it. */
export interface Side {
  readonly url: string;
  readonly key: string;
}

/** An answer, read to its end. */
export interface Answer {
  readonly status: number;
  /** Without parameters: `application/json`. */
  readonly mediaType: string;
  /** The parsed body, or the texts of the events if it is a stream. */
  readonly body: { readonly json: unknown } | { readonly events: readonly StreamEvent[] } | undefined;
  readonly firstByteMs: number;
  readonly totalMs: number;
}

export interface StreamEvent {
  readonly name: string;
  /** Parsed if it is JSON. */
  readonly data: unknown;
}

export interface NoAnswer {
  /** Why there is none: "ECONNREFUSED". */
  readonly reason: string;
}

export interface SendOptions {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** The largest answer that is compared. */
const maxAnswerBytes = 64 * 1_024 * 1_024;

/** Sends a request, and reads the whole answer. Redirects are not followed: the key stays here. */
export async function send(request: ShadowRequest, side: Side, options: SendOptions): Promise<Answer | NoAnswer> {
  const timeout = timeoutSignal(options.timeoutMs);
  const sentAtMs = monotonicMs();
  try {
    const response = await fetch(`${side.url}${request.path}`, {
      method: request.method,
      headers: { ...request.headers, ...keyHeader(request, side), ...contentType(request) },
      ...(request.body === undefined ? {} : { body: JSON.stringify(request.body) }),
      redirect: 'manual',
      signal: AbortSignal.any([timeout, options.signal]),
    });
    const { bytes, firstByteAtMs } = await readAll(response);
    const mediaType = response.headers.get('content-type')?.split(';', 1)[0]?.trim().toLowerCase() ?? '';
    return {
      ...{ status: response.status, mediaType, body: bodyOf(bytes, mediaType) },
      firstByteMs: firstByteAtMs - sentAtMs,
      totalMs: monotonicMs() - sentAtMs,
    };
  } catch (thrown) {
    if (options.signal.aborted) return { reason: 'stopped' };
    if (timeout.aborted) return { reason: `no whole answer within ${options.timeoutMs / 1_000} s` };
    return { reason: reasonOf(thrown) };
  }
}

/** Each API takes the key in the header that its SDK sends. */
function keyHeader({ path }: ShadowRequest, { key }: Side): Readonly<Record<string, string>> {
  return path.startsWith('/v1/messages') ? { 'x-api-key': key } : { authorization: `Bearer ${key}` };
}

function contentType({ body }: ShadowRequest): Readonly<Record<string, string>> {
  return body === undefined ? {} : { 'content-type': 'application/json' };
}

async function readAll({ body }: Response) {
  const chunks: Uint8Array[] = [];
  let size = 0;
  let firstByteAtMs: number | undefined;
  for await (const chunk of body ?? []) {
    firstByteAtMs ??= monotonicMs();
    size += chunk.length;
    if (size > maxAnswerBytes) throw new Error(`the answer is larger than ${maxAnswerBytes / 1_024 ** 2} MiB`);
    chunks.push(chunk);
  }
  return { bytes: Buffer.concat(chunks), firstByteAtMs: firstByteAtMs ?? monotonicMs() };
}

function bodyOf(bytes: Buffer, mediaType: string): Answer['body'] {
  if (mediaType !== 'text/event-stream') {
    const json = parsed(bytes.toString());
    return json === undefined ? undefined : { json: json.value };
  }
  const events: StreamEvent[] = [];
  const take = (event: Buffer) => {
    const { name, data } = readEvent(event);
    if (data !== undefined) events.push({ name, data: parsed(data)?.value ?? data });
  };
  const splitter = new EventSplitter({ maxEventBytes: maxAnswerBytes, onEvent: take });
  splitter.push(bytes);
  const rest = splitter.end();
  if (rest.length > 0) take(rest);
  return { events };
}

function parsed(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

function reasonOf(thrown: unknown): string {
  const cause: unknown = thrown instanceof Error ? thrown.cause : undefined;
  if (cause instanceof Error) return 'code' in cause ? String(cause.code) : cause.message;
  return thrown instanceof Error ? thrown.message : 'the connection failed';
}
