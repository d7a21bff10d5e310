import { type Agent, type IncomingMessage, request } from 'node:http';

export interface Question {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: object;
}

export interface Client {
  readonly baseUrl: string;
  readonly token: string;
  /** Keeps connections, as clients do. */
  readonly agent: Agent;
}

/**
 * The text of a complete answer. @throws the reason if there is none, or its status if that is not
 * 200.
 */
export async function ask({ baseUrl, token, agent }: Client, { method, path, body }: Question): Promise<string> {
  const text = body === undefined ? '' : JSON.stringify(body);
  const sent = request(`${baseUrl}${path}`, {
    method,
    agent,
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
    },
    timeout: silentMs,
  });
  sent.on('timeout', () => sent.destroy(new Error(`nothing came for ${silentMs / 1_000} s`)));
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  sent.on('response', resolve).on('error', (failure) => reject(describe(failure, sent.reusedSocket)));
  sent.end(text);
  const response = await promise;
  let answer = '';
  for await (const piece of response.setEncoding('utf8')) answer += piece;
  if (response.statusCode !== 200) throw new Error(`status ${response.statusCode}: ${answer.slice(0, 300)}`);
  return answer;
}

const silentMs = 60_000;

function describe(failure: Error, isReused: boolean): Error {
  return new Error(`${failure.message} (${isReused ? 'a connection that had been used' : 'a new connection'})`);
}
