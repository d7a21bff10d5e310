import { Agent, type IncomingMessage, request as startRequest } from 'node:http';

/** A request for a client program to send. */
export interface Question {
  readonly url: string;
  readonly token: string;
  /** Stands in the request, so that the provider's record tells which one it was. */
  readonly marker: string;
}

/** An answer as its client saw it. */
export interface Answer {
  readonly marker: string;
  readonly sentMs: number;
  readonly receivedMs: number;
  /** 0: the connection broke. */
  readonly status: number;
  readonly retryAfterSeconds: number | undefined;
  readonly text: string;
}

const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });

process.on('message', async (question: Question) => {
  process.send?.(await ask(question));
});
process.on('disconnect', () => process.exit());

async function ask(question: Question): Promise<Answer> {
  const { marker } = question;
  const sentMs = Date.now();
  try {
    const { response, text } = await post(question);
    const { headers, statusCode: status = 0 } = response;
    const retryAfter = headers['retry-after'];
    const retryAfterSeconds = retryAfter === undefined ? undefined : Number(retryAfter);
    return { marker, sentMs, receivedMs: Date.now(), status, retryAfterSeconds, text };
  } catch (broken) {
    return { marker, sentMs, receivedMs: Date.now(), status: 0, retryAfterSeconds: undefined, text: String(broken) };
  }
}

function post({ url, token, marker }: Question) {
  return new Promise<{ readonly response: IncomingMessage; readonly text: string }>((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const request = startRequest(url, { method: 'POST', headers, agent }, (response) => {
      let text = '';
      response
        .setEncoding('utf8')
        .on('data', (piece: string) => {
          text += piece;
        })
        .on('end', () => resolve({ response, text }))
        .on('error', reject);
    });
    request.on('error', reject);
    request.end(JSON.stringify({ model: 'gateway/sterk', messages: [{ role: 'user', content: marker }] }));
  });
}
