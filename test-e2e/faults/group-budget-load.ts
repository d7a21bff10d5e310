import { Agent, request as startRequest } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { roomMs } from '@gateway/testkit/room';
import { messagesBody, relayHeaders } from '../client/relay.ts';

/** What the load's requests cost: less than what each of them reserves. */
export const costMicros = 20 * 3 + 200 * 15;

const bodyText = JSON.stringify(messagesBody('claude-sonnet-5', 'Spend some money.', { max_tokens: 200 }));

/** A token of input for four bytes, and as much output as the request allows. */
export const reservedMicros = Math.ceil(bodyText.length / 4) * 3 + 200 * 15;

/** The usage that providers must report for a request to cost `costMicros`. */
export const usage = { input_tokens: 20, output_tokens: 200 };

export interface SpendingLoad {
  readonly urls: readonly string[];
  readonly tokens: readonly string[];
  readonly clients: number;
  readonly amountMicros: number;
}

export interface Spending {
  readonly counts: { readonly answered: number; readonly refused: number; readonly failed: number };
  /** Refusals that came when all requests so far, and one more, had room in the budget. */
  readonly refusedTooEarly: readonly string[];
}

/**
 * Clients that send requests until the budget has refused each of them twice in a row. A request
 * that fails is followed by one to the next edge.
 */
export function spend({ urls, tokens, clients, amountMicros }: SpendingLoad) {
  const agent = new Agent({ keepAlive: true, maxSockets: clients });
  const counts = { answered: 0, refused: 0, failed: 0 };
  const refusedTooEarly: string[] = [];
  let started = 0;
  const client = async (n: number) => {
    for (let refusals = 0, edge = n; refusals < 2; ) {
      started += 1;
      const token = tokens[n % tokens.length] ?? '';
      const { status, text } = await post(urls[edge % urls.length] ?? '', token, agent);
      if (status === 200) {
        counts.answered += 1;
        refusals = 0;
      } else if (status === 429) {
        counts.refused += 1;
        refusals += 1;
        if ((started + 1) * reservedMicros <= amountMicros) refusedTooEarly.push(text);
        await sleep(roomMs(100));
      } else {
        counts.failed += 1;
        edge += 1;
        await sleep(roomMs(20));
      }
    }
  };
  const ended = Promise.all(Array.from({ length: clients }, (_, n) => client(n))).then((): Spending => {
    agent.destroy();
    return { counts, refusedTooEarly };
  });
  const untilAnswered = async (count: number) => {
    while (counts.answered < count) await sleep(5);
  };
  return { ended, untilAnswered };
}

/** Status 0: the connection failed, or ended before the answer did. */
function post(url: string, token: string, agent: Agent) {
  return new Promise<{ readonly status: number; readonly text: string }>((resolve) => {
    const fail = (thrown: Error) => resolve({ status: 0, text: thrown.message });
    const headers = relayHeaders(token, '/v1/messages');
    const options = { method: 'POST', headers, agent, timeout: roomMs(20_000) };
    const request = startRequest(`${url}/v1/messages`, options, (response) => {
      let text = '';
      response
        .setEncoding('utf8')
        .on('data', (piece: string) => {
          text += piece;
        })
        .on('end', () => resolve({ status: response.complete ? (response.statusCode ?? 0) : 0, text }))
        .on('error', fail);
    });
    request.on('timeout', () => request.destroy(new Error('no answer within 20 s'))).on('error', fail);
    request.end(bodyText);
  });
}
