import type { NamedEvent } from '../simulated-format.ts';
import type { Simulator } from '../simulator.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Sends a Responses request; by default a streamed "Hello" to gpt-5.5 from account `a`. */
export function postResponses(simulator: Pick<Simulator, 'url'>, fields: Fields = {}, init: PostInit = {}) {
  return post(`${simulator.url}/v1/responses`, { model: 'gpt-5.5', stream: true, input: 'Hello', ...fields }, init);
}

/** Sends a Messages request; by default a streamed "Hello" to claude-haiku-4-5 from account `a`. */
export function postMessages(simulator: Pick<Simulator, 'url'>, fields: Fields = {}, init: PostInit = {}) {
  const messages = [{ role: 'user', content: 'Hello' }];
  const body = { model: 'claude-haiku-4-5', max_tokens: 1000, stream: true, messages, ...fields };
  return post(`${simulator.url}/v1/messages`, body, init);
}

export interface PostInit {
  readonly account?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

export function post(url: string, body: unknown, { account = 'a', headers = {}, signal }: PostInit = {}) {
  const isMessages = url.includes('/v1/messages');
  const credential = isMessages ? { 'x-api-key': account } : { authorization: `Bearer ${account}` };
  const version = isMessages ? { 'anthropic-version': '2023-06-01' } : {};
  return fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...credential, ...version, ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    signal: signal ?? null,
  });
}

/** The parsed body of an answer. */
export async function readJson(answer: Response | Promise<Response>) {
  return JSON.parse(await (await answer).text());
}

/** All events of a streamed answer, not parsed. */
export async function readEvents(answer: Response | Promise<Response>): Promise<readonly NamedEvent[]> {
  const text = await (await answer).text();
  return text.split('\n\n').flatMap((block) => {
    const name = /^event: (.*)$/m.exec(block)?.[1];
    const data = /^data: (.*)$/m.exec(block)?.[1];
    return name === undefined || data === undefined ? [] : [{ name, data }];
  });
}
