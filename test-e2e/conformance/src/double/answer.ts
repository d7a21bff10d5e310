import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import type { Request, Response } from 'express';
import type { Frame, ProviderFormat, Reply } from './formats/provider-format.ts';
import type { Fault, Script } from './script.ts';

interface Answering {
  readonly format: ProviderFormat;
  readonly request: Request;
  readonly response: Response;
  readonly script: Script;
  readonly fault: Fault | undefined;
}

/** Answers one request as its script says. Also returns when the client has left. */
export async function answer(answering: Answering): Promise<void> {
  const { format, request, response, script, fault } = answering;
  const left = new AbortController();
  response.on('close', () => left.abort());
  try {
    await setTimeout(script.firstByteAfterMs ?? 0, undefined, { signal: left.signal });
    if (fault?.kind === 'cut-before-answer') return cut(response);
    response.set(format.headers(`req_${randomBytes(8).toString('hex')}`));
    if (fault?.kind === 'refuse') {
      const { status, headers = {}, message = 'The provider double refuses.' } = fault;
      response.set(headers).status(status).json(format.errorBody(status, message));
    } else if (request.body?.stream === true) await stream(answering, left.signal);
    else await sendWhole(answering, left.signal);
  } catch (thrown) {
    if (!left.signal.aborted) throw thrown;
  }
}

async function stream({ format, request, response, script, fault }: Answering, left: AbortSignal): Promise<void> {
  response.status(200).set({ 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' });
  response.flushHeaders();
  const faultAfter = fault !== undefined && 'events' in fault ? fault.events : Number.POSITIVE_INFINITY;
  let position = 0;
  for (const frame of format.events(replyTo(request, script))) {
    if (position > 0 && script.eventEveryMs) await setTimeout(script.eventEveryMs, undefined, { signal: left });
    if (position >= faultAfter) break;
    await write(response, frame, left);
    position++;
  }
  if (position < faultAfter) response.end();
  else if (fault?.kind === 'error-event-after') {
    await write(response, format.errorEvent(fault.message, position), left);
    response.end();
  } else if (fault?.kind === 'silent-after-events') await untilAborted(left);
  else cut(response);
}

/** In an answer that is not streamed, a fault after events is a fault within the body. */
async function sendWhole({ format, request, response, script, fault }: Answering, left: AbortSignal): Promise<void> {
  if (fault?.kind === 'silent-after-events') await untilAborted(left);
  if (fault?.kind === 'error-event-after') {
    response.status(500).json(format.errorBody(500, fault.message));
    return;
  }
  const text = JSON.stringify(format.whole(replyTo(request, script)));
  // As providers do: a gateway that forwards the encoding must forward the body unchanged.
  const isGzip = request.acceptsEncodings('gzip') === 'gzip';
  const body = isGzip ? gzipSync(text) : Buffer.from(text);
  response.status(200).set({ 'content-type': 'application/json', 'content-length': String(body.length) });
  if (isGzip) response.set('content-encoding', 'gzip');
  if (fault === undefined) response.end(body);
  else response.write(body.subarray(0, body.length / 2), () => cut(response));
}

/** Characters of several bytes come in two pieces, as they may on any network. */
async function write(response: Response, { event, data }: Frame, left: AbortSignal): Promise<void> {
  const bytes = Buffer.from(`${event === undefined ? '' : `event: ${event}\n`}data: ${data}\n\n`);
  const border = bytes.findIndex((byte) => byte >= 0x80) + 1;
  if (border > 0) {
    response.write(bytes.subarray(0, border));
    await setImmediate(undefined, { signal: left });
  }
  const goesOn = response.write(bytes.subarray(border));
  if (!goesOn) await once(response, 'drain', { signal: left });
}

async function untilAborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}

/** Sends the written bytes, then closes the connection without the end of the answer. */
function cut(response: Response): void {
  response.locals.isCut = true;
  // Bytes that were written in this turn of the event loop have yet to reach the socket.
  void setImmediate().then(() => response.socket?.end(() => response.destroy()));
}

/** The default answer of a script. */
const usual = {
  parts: [{ kind: 'text', text: 'Hello from the provider double.' }],
  usage: { cached: 0, output: 7, reasoning: 0 },
} as const;

function replyTo({ body }: Request, { parts = usual.parts, finish, usage }: Script): Reply {
  const callsTools = parts.some(({ kind }) => kind === 'tool-call');
  return {
    id: randomBytes(12).toString('hex'),
    model: typeof body?.model === 'string' ? body.model : 'unknown',
    createdAtSeconds: Math.floor(Date.now() / 1_000),
    parts,
    finish: finish ?? (callsTools ? 'tool-calls' : 'stop'),
    // Not exact, but longer texts count more.
    usage: { input: Math.ceil(JSON.stringify(body).length / 4), ...usual.usage, ...usage },
    request: body ?? {},
  };
}
