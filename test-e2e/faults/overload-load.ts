import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, type IncomingMessage, request as startRequest } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

/** An answer as its client saw it. */
export interface Answer {
  /** Stands in the request, so that the provider's record tells which one it was. */
  readonly marker: string;
  readonly sentMs: number;
  readonly receivedMs: number;
  readonly status: number;
  readonly retryAfterSeconds: number | undefined;
  readonly text: string;
}

/** Programs that use all the time that they get, until they are disposed of. */
export function startBusyLoops(count: number): AsyncDisposable {
  const loops: readonly ChildProcess[] = Array.from({ length: count }, () =>
    // The time limit ends a loop whose parent could not.
    spawn(process.execPath, ['-e', 'const end = Date.now() + 150_000; while (Date.now() < end);'], { stdio: 'ignore' }),
  );
  return {
    async [Symbol.asyncDispose]() {
      const running = loops.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null);
      const ended = running.map((loop) => once(loop, 'exit'));
      for (const loop of running) loop.kill('SIGKILL');
      await Promise.all(ended);
    },
  };
}

/** Sends chat completions, each on a connection of its own as clients that just started do. */
export class ChatClients implements Disposable {
  readonly #urls: readonly string[];
  readonly #agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
  #sent = 0;

  constructor(urls: readonly string[]) {
    this.#urls = urls;
  }

  async ask(token: string): Promise<Answer> {
    const marker = `request-${++this.#sent}-`;
    const url = `${this.#urls[this.#sent % this.#urls.length]}/v1/chat/completions`;
    const sentMs = Date.now();
    const { response, text } = await post(url, token, marker, this.#agent);
    const { headers, statusCode: status = 0 } = response;
    const retryAfter = headers['retry-after'];
    const retryAfterSeconds = retryAfter === undefined ? undefined : Number(retryAfter);
    return { marker, sentMs, receivedMs: Date.now(), status, retryAfterSeconds, text };
  }

  /** All answers to a client that waits as long as each refusal says. The last is a success. */
  async obey(token: string, signal: AbortSignal): Promise<readonly Answer[]> {
    const answers: Answer[] = [];
    for (;;) {
      const answer = await this.ask(token);
      answers.push(answer);
      if (answer.retryAfterSeconds === undefined) return answers;
      await sleep(answer.retryAfterSeconds * 1_000, undefined, { signal });
    }
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }
}

function post(url: string, token: string, marker: string, agent: Agent) {
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
