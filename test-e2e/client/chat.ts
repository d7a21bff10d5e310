import { roomMs } from '@gateway/testkit/room';
import type { Topology } from '../topologies/topology.ts';

export interface ChatAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The parsed body; undefined if it is not JSON. */
  readonly json: unknown;
}

/** Posts a chat completion with `messages` made from a text, and reads the whole answer. */
export async function chat(
  { baseUrl }: Pick<Topology, 'baseUrl'>,
  token: string,
  body: Readonly<Record<string, unknown>>,
  options: { readonly headers?: Readonly<Record<string, string>>; readonly signal?: AbortSignal } = {},
): Promise<ChatAnswer> {
  const response = await fetch(`${baseUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...options.headers },
    body: JSON.stringify({ messages: [{ role: 'user', content: 'Hello there' }], ...body }),
    signal: options.signal ?? AbortSignal.timeout(roomMs(30_000)),
  });
  return readAnswer(response);
}

/** The events of an SSE text: the data of each, parsed; "[DONE]" stays as it is. */
export function eventsOf(text: string): readonly unknown[] {
  return text
    .split('\n\n')
    .filter((event) => event.startsWith('data: '))
    .map((event) => event.slice('data: '.length))
    .map((data) => (data === '[DONE]' ? data : JSON.parse(data)));
}

export async function readAnswer(response: Response): Promise<ChatAnswer> {
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.startsWith('application/json') ?? false;
  return { status: response.status, headers: response.headers, text, json: isJson ? JSON.parse(text) : undefined };
}
