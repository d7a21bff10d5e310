import { type IncomingMessage, request } from 'node:http';
import { sleep } from '@gateway/time';
import { readAnswer } from '../../faults/load/read-answer.ts';
import { type RequestKind, requestKinds } from '../../faults/load/request-kinds.ts';
import { connectSocket } from '../world/http-network.ts';
import type { Network } from '../world/network.ts';
import type { Chance } from '../world/seeded.ts';

export interface ClientToken {
  readonly tokenId: string;
  /** Its text now, as its clients know it. */
  text: string;
  readonly requestsPerMinute: number;
  /** How many clients use it. */
  readonly clients: number;
  /** The group in which it was issued. Undefined: none, ever. */
  readonly groupId?: string | undefined;
}

/**
 * How a request ended, as its client saw it. `whole`: a complete answer. `cut`: an answer that
 * began and broke off. `left`: the client hung up. `refused`: an error status. `broken`: no status
 * at all. `unreached`: no edge to connect to.
 */
export type View = 'whole' | 'cut' | 'left' | 'refused' | 'broken' | 'unreached';

/** One request, and its result at the client. */
export interface ClientRequest {
  readonly client: string;
  /** Appears only in the text of this request. */
  readonly marker: string;
  readonly token: ClientToken;
  /** The token's text that it was sent with. */
  readonly text: string;
  readonly kind: RequestKind;
  readonly edge: string;
  readonly sentAtMs: number;
  headAtMs?: number;
  endedAtMs?: number;
  status?: number;
  /** The gateway's id of the request. */
  requestId?: string | undefined;
  retryAfterMs?: number | undefined;
  view?: View;
  /** The code of an error answer. */
  code?: string | undefined;
  /** The limit that an error answer names. */
  limit?: string | undefined;
  /** Faults that no client may ever see. */
  problem?: string | undefined;
  /** What only the gateway and its providers may know, and its answer shows. */
  leaked?: string | undefined;
  /** It waited as long as the answer before told it to. */
  readonly obeyed: boolean;
}

export interface ClientPlan {
  readonly name: string;
  /** The token that it uses now. */
  readonly token: () => ClientToken;
  readonly edges: readonly string[];
  /** Whether it waits as long as an answer with `retry-after` says. */
  readonly obeys: boolean;
  /** The mean pause between two requests. */
  readonly pauseMs: number;
  readonly chance: Chance;
  /** What no answer may show. */
  readonly secrets: () => readonly string[];
  readonly onRequest: (request: ClientRequest) => void;
  readonly onEnded: (request: ClientRequest) => void;
}

/** The longest that a client waits for an answer. */
const patienceMs = 600_000;

/** Sends one request after the other until the signal aborts. */
export async function runClient(network: Network, plan: ClientPlan, signal: AbortSignal): Promise<void> {
  const { chance, pauseMs, obeys } = plan;
  let waitMs: number | undefined;
  for (let number = 1; !signal.aborted; number++) {
    await sleep(waitMs ?? chance.pauseMs(pauseMs), { signal }).catch(() => undefined);
    if (signal.aborted) return;
    const asked = await ask(network, plan, { number, obeyed: waitMs !== undefined });
    waitMs = obeys && asked.code === 'rate_limit_exceeded' ? asked.retryAfterMs : undefined;
  }
}

async function ask(
  network: Network,
  { name, token: tokenOf, edges, chance, secrets, onRequest, onEnded }: ClientPlan,
  { number, obeyed }: { readonly number: number; readonly obeyed: boolean },
): Promise<ClientRequest> {
  const { world } = network;
  const token = tokenOf();
  const kind = chance.pick(requestKinds.flatMap((each) => Array.from({ length: each.weight }, () => each)));
  const marker = `marker-${name}-${number}`;
  const text = `${marker} ${'and a few more words '.repeat(chance.between(1, chance.happens(0.2) ? 60 : 8))}`.trim();
  const asked: ClientRequest = {
    client: name,
    marker,
    token,
    text: token.text,
    kind,
    edge: chance.pick(edges),
    sentAtMs: world.nowMs,
    obeyed,
  };
  const leavesAfterBytes = chance.happens(0.1) ? chance.between(1, 4_000) : Number.POSITIVE_INFINITY;
  const readsSlowly = chance.happens(0.05);
  onRequest(asked);
  const { response, failure } = await post(network, asked, text);
  if (response === undefined) {
    asked.view = failure === 'ECONNREFUSED' ? 'unreached' : 'broken';
  } else {
    asked.headAtMs = world.nowMs;
    asked.status = response.statusCode ?? 0;
    asked.requestId = String(response.headers['x-request-id']);
    asked.retryAfterMs = Number(response.headers['retry-after']) * 1_000 || undefined;
    let pausesLeft = readsSlowly ? 30 : 0;
    const pause = async () => {
      if (pausesLeft-- > 0) await sleep(chance.between(1, 2_000));
    };
    const received = await receive(response, leavesAfterBytes, pause);
    const shown = `${JSON.stringify(response.headersDistinct)} ${received.text}`;
    // `/v1/responses` relays errors as the provider wrote them, and nothing else.
    const isRelayed = kind.path === '/v1/responses' && asked.status !== 200;
    const isSecret = (secret: string) => secret !== token.text && shown.includes(secret);
    if (!isRelayed) asked.leaked = secrets().find(isSecret);
    if (asked.status !== 200) {
      asked.view = 'refused';
      Object.assign(asked, errorOf(received.text));
    } else {
      const expected = kind.shape === 'token_count' ? undefined : `echo: ${text}`;
      const { whole, problem } = readAnswer({ ...received, shape: kind.shape, expected });
      asked.view = received.left ? 'left' : whole ? 'whole' : 'cut';
      asked.problem = problem;
    }
  }
  asked.endedAtMs = world.nowMs;
  onEnded(asked);
  return asked;
}

function post(network: Network, { edge, text: token, kind }: ClientRequest, text: string) {
  const body = JSON.stringify(kind.body(text));
  const address = { host: edge, port: 8080 };
  return new Promise<{ readonly response?: IncomingMessage; readonly failure?: string | undefined }>((resolve) => {
    const sent = request({
      ...address,
      method: 'POST',
      path: kind.path,
      createConnection: () => connectSocket(network, address),
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
      },
      signal: AbortSignal.timeout(patienceMs),
    });
    sent.once('response', (response) => resolve({ response }));
    sent.on('error', (error: NodeJS.ErrnoException) => resolve({ failure: error.code }));
    sent.end(body);
  });
}

async function receive(response: IncomingMessage, leavesAfterBytes: number, pause: () => Promise<void>) {
  const chunks: Buffer[] = [];
  let bytes = 0;
  let left = false;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      bytes += chunk.length;
      left = bytes >= leavesAfterBytes;
      if (left) break;
      await pause();
    }
  } catch {
    // Reset by the other side.
  }
  response.destroy();
  return { text: Buffer.concat(chunks).toString(), ended: response.complete && !left, left };
}

/** The code of an error in any of the endpoints' shapes, and the limit that it names. */
function errorOf(text: string): Pick<ClientRequest, 'code' | 'limit'> {
  try {
    const { error = {} } = JSON.parse(text) as { error?: Readonly<Record<string, string>> };
    const { code, type, message = '', limit } = error;
    if (code !== undefined) return { code, limit };
    // The Messages shape has neither: the text says whether the token or its accounts are limited.
    const [, named] = limitTexts.find(([start]) => message.startsWith(start)) ?? [];
    return named === undefined ? { code: type } : { code: 'rate_limit_exceeded', limit: named };
  } catch {
    return {};
  }
}

const limitTexts = [
  ['The token exceeded its limit of requests', 'requests_per_minute'],
  ["The token's group exceeded its limit of requests", 'group_requests_per_minute'],
  ["The budget of the token's group", 'budget'],
  ['The token or its group has too many requests', 'concurrency'],
] as const;
