import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Answer, Question } from './overload-client.ts';

/** Programs that use all the time that they get, until they are disposed of. */
export function startBusyLoops(count: number): AsyncDisposable {
  // The time limit ends a loop whose parent could not.
  const script = 'const end = Date.now() + 150_000; while (Date.now() < end);';
  const loops = Array.from({ length: count }, () => spawn(process.execPath, ['-e', script], { stdio: 'ignore' }));
  return { [Symbol.asyncDispose]: () => endAll(loops) };
}

/**
 * Sends chat completions from several programs: one alone would get too little of a busy machine to
 * load the gateway.
 */
export class ChatClients implements AsyncDisposable {
  readonly #url: string;
  readonly #programs: readonly ChildProcess[];
  readonly #waiting = new Map<string, (answer: Answer) => void>();
  #sent = 0;

  constructor(baseUrl: string, programs: number) {
    this.#url = `${baseUrl}/v1/chat/completions`;
    this.#programs = Array.from({ length: programs }, () => {
      const program = fork(fileURLToPath(new URL('overload-client.ts', import.meta.url)), { execArgv: [] });
      return program.on('message', (answer: Answer) => {
        this.#waiting.get(answer.marker)?.(answer);
        this.#waiting.delete(answer.marker);
      });
    });
  }

  /** Resolves when every program sends requests. */
  async untilReady(): Promise<void> {
    await Promise.all(this.#programs.map(() => this.ask('none')));
  }

  ask(token: string): Promise<Answer> {
    const question: Question = { url: this.#url, token, marker: `request-${++this.#sent}-` };
    const answer = Promise.withResolvers<Answer>();
    this.#waiting.set(question.marker, answer.resolve);
    this.#programs[this.#sent % this.#programs.length]?.send(question);
    return answer.promise;
  }

  /** All answers to a client that waits as long as each refusal says. */
  async obey(token: string): Promise<readonly Answer[]> {
    const answers: Answer[] = [];
    for (;;) {
      const answer = await this.ask(token);
      answers.push(answer);
      if (answer.retryAfterSeconds === undefined) return answers;
      await sleep(answer.retryAfterSeconds * 1_000);
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return endAll(this.#programs);
  }
}

async function endAll(programs: readonly ChildProcess[]): Promise<void> {
  const running = programs.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null);
  const ended = running.map((program) => once(program, 'exit'));
  for (const program of running) program.kill('SIGKILL');
  await Promise.all(ended);
}
