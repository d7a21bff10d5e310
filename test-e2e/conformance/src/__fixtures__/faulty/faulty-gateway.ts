import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { type Dispatcher, request as send } from 'undici';
import { endpointNamedBy } from '../../check.ts';
import type { Frame } from '../../double/formats/provider-format.ts';
import { type Listening, listenOnLoopback } from '../../double/listen-on-loopback.ts';
import { paths } from '../../target/endpoints.ts';

/** A fault of a gateway between a client and its provider. */
export interface Fault extends Change {
  /** `ends streams without [DONE]`. */
  readonly name: string;
  /** The check that must find it. */
  readonly foundBy: string;
}

/** Changes of a request and its answer. Bodies are changed as text. */
export interface Change {
  /** Answers instead of the provider, for requests that the gateway refuses. */
  refuses?(request: ClientRequest): { readonly status: number; readonly body: string } | undefined;
  /** The request to the provider. */
  request?(body: string): string;
  status?(status: number): number;
  headers?(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>>;
  /** The JSON of a whole answer, or of each event. */
  json?(json: string, position: number): string;
  events?(events: readonly Frame[]): readonly Frame[];
  /** The whole text of an answer or a stream. */
  bytes?(text: string): string | Buffer;
  /** Sends a stream only when it is complete. */
  readonly holdsBack?: true;
  /** Ends a stream as if it were complete when the provider has hung up. */
  readonly hidesCuts?: true;
}

interface ClientRequest {
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A gateway that only forwards, with one fault at most. */
export async function startFaultyGateway(providerUrl: string, fault?: Fault): Promise<Listening> {
  return await listenOnLoopback(async (request, response) => {
    const endpoint = fault && endpointNamedBy(fault.foundBy);
    const isConcerned = endpoint !== undefined && pathOf(request) === paths[endpoint];
    try {
      await relay(providerUrl, request, response, isConcerned ? fault : undefined);
    } catch {
      response.destroy();
    }
  });
}

const pathOf = ({ url = '' }: IncomingMessage) => url.split('?')[0];

const passedOn = [
  'content-type',
  'content-encoding',
  'authorization',
  'x-api-key',
  'anthropic-version',
  'anthropic-beta',
];

async function relay(
  providerUrl: string,
  request: IncomingMessage,
  response: ServerResponse,
  fault: Change | undefined,
) {
  const bytes = Buffer.concat(await request.toArray());
  const { url = '', headers } = request;
  const refusal = fault?.refuses?.({ url, headers, body: bytes.toString() });
  if (refusal !== undefined) {
    response.writeHead(refusal.status, { 'content-type': 'application/json' }).end(refusal.body);
    return;
  }
  const left = new AbortController();
  response.on('close', () => left.abort());
  const answer = await send(`${providerUrl}${pathOf(request)}`, {
    method: (request.method ?? 'GET') as Dispatcher.HttpMethod,
    headers: Object.fromEntries(Object.entries(headers).filter(([name]) => passedOn.includes(name))),
    body: fault?.request === undefined || bytes.length === 0 ? bytes : fault.request(bytes.toString()),
    signal: left.signal,
  });
  const type = String(answer.headers['content-type']);
  const sent = { 'content-type': type };
  response.writeHead(fault?.status?.(answer.statusCode) ?? answer.statusCode, fault?.headers?.(sent) ?? sent);
  const isStream = type.startsWith('text/event-stream');
  if (changesBodies(fault)) await sendChanged(answer, response, fault, isStream);
  else {
    for await (const piece of answer.body) response.write(piece);
    response.end();
  }
}

function changesBodies(fault: Change | undefined): fault is Change {
  return Boolean(fault && (fault.json || fault.events || fault.bytes || fault.holdsBack || fault.hidesCuts));
}

async function sendChanged(
  answer: Dispatcher.ResponseData,
  response: ServerResponse,
  fault: Change,
  isStream: boolean,
) {
  const pieces: Buffer[] = [];
  let isWhole = true;
  try {
    for await (const piece of answer.body) pieces.push(piece);
  } catch {
    isWhole = false;
  }
  const text = Buffer.concat(pieces).toString();
  const changed = isStream ? streamed(text, fault) : (fault.json?.(text, 0) ?? text);
  response.write(fault.bytes?.(changed) ?? changed);
  if (isWhole || fault.hidesCuts) response.end();
  else response.destroy();
}

function streamed(text: string, { events, json }: Change): string {
  const frames = text
    .split('\n\n')
    .filter((frame) => frame !== '')
    .map((frame) => ({ event: /^event: (.*)$/m.exec(frame)?.[1], data: /^data: (.*)$/m.exec(frame)?.[1] ?? '' }));
  return (events?.(frames) ?? frames)
    .map(({ event, data }, position) => {
      const line = `data: ${data === '[DONE]' ? data : (json?.(data, position) ?? data)}\n\n`;
      return event === undefined ? line : `event: ${event}\n${line}`;
    })
    .join('');
}
