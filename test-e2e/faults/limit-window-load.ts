import { Agent, type IncomingMessage, request as startRequest } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { roomMs } from '@gateway/testkit/room';

/** An answer as a client saw it. */
export interface Answer {
  readonly sentMs: number;
  readonly receivedMs: number;
  readonly status: number;
  readonly remaining: number;
  readonly retryAfterSeconds: number | undefined;
  /** Set for a refusal by requests per minute. */
  readonly retryAtMs: number | undefined;
}

export interface Load {
  readonly urls: readonly string[];
  readonly token: string;
  readonly clientsPerUrl: number;
  /** The average pause of a client between two requests. */
  readonly pauseMs: number;
  readonly signal: AbortSignal;
}

/**
 * Clients that send requests repeatedly, over connections that stay open, until they are stopped.
 */
export async function runLoad({ urls, token, clientsPerUrl, pauseMs, signal }: Load): Promise<readonly Answer[]> {
  const answers: Answer[] = [];
  const agents = urls.map((url) => ({ url, agent: new Agent({ keepAlive: true, maxSockets: clientsPerUrl }) }));
  const clients = agents.flatMap(({ url, agent }) =>
    Array.from({ length: clientsPerUrl }, async () => {
      await pause(Math.random() * pauseMs, signal);
      while (!signal.aborted) {
        answers.push(await ask(url, token, agent));
        await pause(pauseMs * (0.5 + Math.random()), signal);
      }
    }),
  );
  await Promise.all(clients);
  for (const { agent } of agents) agent.destroy();
  return answers;
}

/**
 * A request that no provider sees: its body is not JSON, which costs a slot and is answered 400.
 */
export async function ask(url: string, token: string, agent?: Agent): Promise<Answer> {
  const sentMs = Date.now();
  const { response, text } = await post(`${url}/v1/chat/completions`, token, agent);
  const { headers, statusCode: status = 0 } = response;
  const error = status === 429 ? refusalOf(text) : undefined;
  return {
    sentMs,
    receivedMs: Date.now(),
    status,
    remaining: Number(headers['x-ratelimit-remaining-requests']),
    retryAfterSeconds: headers['retry-after'] === undefined ? undefined : Number(headers['retry-after']),
    retryAtMs: error?.limit === 'requests_per_minute' ? Date.parse(error.retryAt) : undefined,
  };
}

function post(url: string, token: string, agent: Agent | undefined) {
  return new Promise<{ readonly response: IncomingMessage; readonly text: string }>((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const request = startRequest(url, { method: 'POST', headers, agent, timeout: roomMs(20_000) }, (response) => {
      let text = '';
      response
        .setEncoding('utf8')
        .on('data', (piece: string) => {
          text += piece;
        })
        .on('end', () => resolve({ response, text }))
        .on('error', reject);
    });
    request.on('timeout', () => request.destroy(new Error('no answer within 20 s'))).on('error', reject);
    request.end('{');
  });
}

interface RefusalError {
  readonly limit: string;
  readonly retryAt: string;
}

function refusalOf(text: string): RefusalError | undefined {
  return (JSON.parse(text) as { readonly error?: RefusalError }).error;
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return sleep(ms, undefined, { signal }).catch(() => undefined);
}
