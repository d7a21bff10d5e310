import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { ask, type Client, type Question } from './ask.ts';

export interface StreamsOptions extends Omit<Client, 'agent'> {
  /** The number of open streams. */
  readonly count: number;
  /** The number of words in each stream. */
  readonly words: number;
  /** The duration of a stream; their starts are spread out. */
  readonly seconds: number;
  readonly onCut: (problem: string) => void;
}

/**
 * Streams on every endpoint, one after the other in this many places, until it is stopped. Then
 * running streams end.
 */
export class Streams {
  #isStopping = false;
  #whole = 0;
  #cut = 0;
  readonly #ended: Promise<unknown>;

  constructor(options: StreamsOptions) {
    const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
    const places = Array.from({ length: options.count }, (_, n) => this.#keepOpen(n, { ...options, agent }));
    this.#ended = Promise.all(places).finally(() => agent.destroy());
  }

  get whole(): number {
    return this.#whole;
  }

  get cut(): number {
    return this.#cut;
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#ended;
  }

  async #keepOpen(place: number, options: StreamsOptions & Client): Promise<void> {
    const { count, words, seconds, onCut } = options;
    const kind = kinds[place % kinds.length] ?? kinds[0];
    await sleep((place / count) * Math.min(seconds, 5) * 1_000);
    while (!this.#isStopping) {
      const { path } = kind;
      try {
        const text = await ask(options, { method: 'POST', path, body: kind.body(`#long ${words}`) } satisfies Question);
        const problem = kind.problemOf(text, words);
        if (problem !== undefined) throw new Error(problem);
        this.#whole += 1;
      } catch (thrown) {
        this.#cut += 1;
        onCut(`${path}: ${thrown instanceof Error ? thrown.message : thrown}`);
        await sleep(1_000);
      }
    }
  }
}

/** Models that only streams use. */
export const streamedModels = ['gpt-5.5', 'claude-opus-4-8', 'claude-sonnet-5'] as const;

interface StreamKind {
  readonly path: string;
  readonly body: (text: string) => object;
  /** Why an answer is incomplete; undefined if it is complete. */
  readonly problemOf: (text: string, words: number) => string | undefined;
}

const kinds: readonly [StreamKind, ...StreamKind[]] = [
  {
    path: '/v1/chat/completions',
    body: (content) => ({ model: 'gateway/sterk', stream: true, messages: [{ role: 'user', content }] }),
    problemOf: (text, words) => problemOf(text, words, /"content":"((?:[^"\\]|\\.)*)"/g, 'data: [DONE]'),
  },
  {
    path: '/v1/messages',
    body: (content) => ({
      model: 'claude-sonnet-5',
      max_tokens: 10_000,
      stream: true,
      messages: [{ role: 'user', content }],
    }),
    problemOf: (text, words) =>
      problemOf(text, words, /"text_delta","text":"((?:[^"\\]|\\.)*)"/g, 'event: message_stop'),
  },
  {
    path: '/v1/responses',
    body: (content) => ({ model: 'gpt-5.5', stream: true, input: [{ role: 'user', content }] }),
    problemOf: (text, words) =>
      problemOf(
        text,
        words,
        /"type":"response.output_text.delta"[^\n]*?"delta":"((?:[^"\\]|\\.)*)"/g,
        'event: response.completed',
      ),
  },
];

/** A stream is complete if it has all words of its provider, and then its end. */
function problemOf(text: string, words: number, delta: RegExp, end: string): string | undefined {
  const said = [...text.matchAll(delta)].map(([, piece = '']) => piece).join('');
  const count = said.split(/\s+/).filter(Boolean).length;
  const last = text.trimEnd().split('\n').slice(-3).join(' | ').slice(-300);
  if (!text.includes(end)) return `ended after ${count} of ${words} words without ${end}: ${last}`;
  return count === words ? undefined : `has ${count} of ${words} words: ${last}`;
}
