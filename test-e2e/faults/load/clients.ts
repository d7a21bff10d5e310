import { setTimeout as sleep } from 'node:timers/promises';
import { roomMs } from '@gateway/testkit/room';
import type { TestToken } from '../../client/tokens.ts';
import type { RandomNumbers } from '../random-numbers.ts';
import { type AskedQuestion, ask } from './ask.ts';
import { pickKind, type RequestKind } from './request-kinds.ts';

/**
 * A client with a token of its own. It sends one request at a time, so that the time identifies its
 * rows.
 */
export interface LoadClient {
  readonly token: TestToken;
  readonly kind: 'service' | 'personal';
}

/** One request, and its result at the client. */
export interface ClientRequest extends AskedQuestion {
  /** A marker that appears only in the text of this request. */
  readonly marker: string;
  readonly tokenId: string;
  readonly kind: RequestKind;
  readonly edge: number;
  readonly startedMs: number;
  readonly endedMs: number;
}

export interface LoadOptions {
  readonly clients: readonly LoadClient[];
  /** Addresses of the edges; each request goes to any of them. */
  readonly edges: readonly string[];
  readonly random: RandomNumbers;
  /**
   * The pause between two requests of a client: between half of this and one and a half times it.
   */
  readonly pauseMs: number;
}

const timeoutMs = roomMs(45_000);
/** After a client gave up, it sends nothing until that request can no longer be admitted. */
const pauseAfterTimeoutMs = 2_000;

/** Many clients at once, until they are stopped. */
export class Load {
  readonly #options: LoadOptions;
  readonly #stop = new AbortController();
  readonly #requests: ClientRequest[] = [];
  readonly #running: Promise<void>;
  #underWay = 0;

  constructor(options: LoadOptions) {
    this.#options = options;
    this.#running = Promise.all(options.clients.map((client) => this.#run(client))).then(() => undefined);
  }

  /** Requests that have ended. */
  get requests(): readonly ClientRequest[] {
    return this.#requests;
  }

  get underWay(): number {
    return this.#underWay;
  }

  /** Resolves when every request has ended. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(client: LoadClient): Promise<void> {
    const { pauseMs, random } = this.#options;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      await sleep(pauseMs * (0.5 + random.next()), undefined, { signal }).catch(() => undefined);
      if (!signal.aborted) await this.#ask(client);
    }
  }

  async #ask({ token }: LoadClient): Promise<void> {
    const { edges, random } = this.#options;
    const marker = `marker-${crypto.randomUUID()}`;
    const kind = pickKind(random);
    const edge = random.between(0, edges.length - 1);
    const text = `${marker} ${'and another few words '.repeat(lengthOf(random))}`.trim();
    const startedMs = Date.now();
    this.#underWay += 1;
    const asked = await ask({
      baseUrl: edges[edge] ?? '',
      token: token.text,
      kind,
      text,
      expected: kind.shape === 'token_count' ? undefined : `echo: ${text}`,
      leavesAfterBytes: kind.shape.endsWith('_stream') && random.next() < 0.15 ? random.between(1, 4_000) : undefined,
      timeoutMs,
    });
    this.#underWay -= 1;
    const endedMs = Date.now();
    this.#requests.push({ ...asked, marker, tokenId: token.tokenId, kind, edge, startedMs, endedMs });
    if (endedMs - startedMs >= timeoutMs) await sleep(pauseAfterTimeoutMs);
  }
}

/** Most answers are short, some take seconds. */
function lengthOf(random: RandomNumbers): number {
  return random.next() < 0.2 ? random.between(20, 60) : random.between(1, 8);
}
