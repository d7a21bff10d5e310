import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { ask, type Client, type Question } from './ask.ts';

export interface SmallRequestsOptions extends Omit<Client, 'agent'> {
  readonly perSecond: number;
  readonly onFailure: (problem: string) => void;
}

/**
 * Requests that are answered at once, on every path through the gateway, at a steady pace over
 * connections that stay open.
 */
export class SmallRequests {
  readonly #durationsMs: number[] = [];
  #failed = 0;
  #isStopping = false;
  readonly #ended: Promise<unknown>;

  constructor(options: SmallRequestsOptions) {
    const agent = new Agent({ keepAlive: true });
    this.#ended = this.#keepAsking({ ...options, agent }).finally(() => agent.destroy());
  }

  get count(): number {
    return this.#durationsMs.length + this.#failed;
  }

  get failed(): number {
    return this.#failed;
  }

  percentileMs(share: number): number {
    const sorted = this.#durationsMs.toSorted((a, b) => a - b);
    return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#ended;
  }

  /**
   * Sends requests on schedule, whatever happened to the ones before: a slow answer must not hide
   * the state after it.
   */
  async #keepAsking(options: SmallRequestsOptions & Client): Promise<void> {
    const underWay = new Set<Promise<void>>();
    for (let n = 0; !this.#isStopping; n++) {
      const asked = this.#askOne(options, questions[n % questions.length] ?? questions[0]);
      underWay.add(asked);
      void asked.then(() => underWay.delete(asked));
      await sleep(1_000 / options.perSecond);
    }
    await Promise.all(underWay);
  }

  async #askOne(options: SmallRequestsOptions & Client, question: Question): Promise<void> {
    const startMs = performance.now();
    try {
      await ask(options, question);
      this.#durationsMs.push(performance.now() - startMs);
    } catch (thrown) {
      this.#failed += 1;
      options.onFailure(`${question.method} ${question.path}: ${thrown instanceof Error ? thrown.message : thrown}`);
    }
  }
}

const messages = [{ role: 'user', content: 'Hello there' }];

const questions: readonly [Question, ...Question[]] = [
  { method: 'POST', path: '/v1/chat/completions', body: { model: 'gateway/snel', messages } },
  { method: 'POST', path: '/v1/messages', body: { model: 'claude-haiku-4-5', max_tokens: 100, messages } },
  { method: 'POST', path: '/v1/responses', body: { model: 'gpt-5.5-mini', input: messages } },
  { method: 'GET', path: '/v1/models' },
  { method: 'GET', path: '/v1/usage' },
];
