import { type IncomingMessage, request } from 'node:http';
import { roomMs } from '@gateway/testkit/room';
import type { Topology } from '../topologies/topology.ts';

type Gateway = Pick<Topology, 'baseUrl'>;

export interface FreshAnswer {
  readonly status: number;
  readonly text: string;
  /** The connection broke before the answer was complete. */
  readonly brokeOff: boolean;
}

export interface RunningAnswer {
  /** Resolves when its first bytes have come, or when it has ended without any. */
  readonly began: Promise<void>;
  /** Never rejects. Without any answer its status is 0. */
  readonly answer: Promise<FreshAnswer>;
}

/** A chat completion on a connection of its own, so that any worker of the gateway may get it. */
export function chatAfresh(gateway: Gateway, token: string, body: Readonly<Record<string, unknown>>): RunningAnswer {
  const whole = { messages: [{ role: 'user', content: 'Hello there' }], ...body };
  return askAfresh(gateway, 'POST', '/v1/chat/completions', token, JSON.stringify(whole));
}

/** `GET /v1/usage`, likewise: the requests of today. */
export async function requestsTodayAfresh(gateway: Gateway, token: string): Promise<number> {
  const { status, text } = await askAfresh(gateway, 'GET', '/v1/usage', token).answer;
  if (status !== 200) throw new Error(`usage answered ${status}: ${text}`);
  const { today } = JSON.parse(text) as { readonly today: { readonly requests: number } };
  return today.requests;
}

function askAfresh({ baseUrl }: Gateway, method: string, path: string, token: string, body = ''): RunningAnswer {
  const began = Promise.withResolvers<void>();
  const answer = new Promise<FreshAnswer>((resolve) => {
    const asked = request(`${baseUrl}${path}`, {
      agent: false,
      method,
      headers: { authorization: `Bearer ${token}`, ...(body === '' ? {} : { 'content-type': 'application/json' }) },
      signal: AbortSignal.timeout(roomMs(60_000)),
    });
    asked.on('error', () => resolve({ status: 0, text: '', brokeOff: true }));
    asked.on('response', (response) => void readAll(response, began.resolve).then(resolve));
    asked.end(body);
  });
  return { began: Promise.race([began.promise, answer.then(() => undefined)]), answer };
}

async function readAll(response: IncomingMessage, onFirst: () => void): Promise<FreshAnswer> {
  const status = response.statusCode ?? 0;
  let text = '';
  try {
    for await (const piece of response.setEncoding('utf8')) {
      text += String(piece);
      onFirst();
    }
    return { status, text, brokeOff: false };
  } catch {
    return { status, text, brokeOff: true };
  }
}
