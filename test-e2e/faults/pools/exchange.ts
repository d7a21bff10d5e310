import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { roomMs } from '@gateway/testkit/room';
import type { AskedQuestion } from '../load/ask.ts';
import { postQuestion } from '../load/post-question.ts';
import { readAnswer } from '../load/read-answer.ts';
import type { AnswerShape, RequestKind } from '../load/request-kinds.ts';

export interface ExchangeOptions {
  readonly baseUrl: string;
  readonly token: string;
  readonly kind: RequestKind;
  /** The prompt, which the model repeats after "echo: ". */
  readonly text: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * One request, observed while its answer comes. It ends by itself or by the gateway, never by its
 * client.
 */
export class Exchange {
  readonly startedMs = Date.now();
  /** Resolves with the status and headers; undefined if the connection broke before. */
  readonly head: Promise<{ readonly status: number; readonly headers: IncomingHttpHeaders } | undefined>;
  /** Resolves when the answer has ended. Never rejects. */
  readonly ended: Promise<this>;
  readonly #options: ExchangeOptions;
  readonly #response: Promise<IncomingMessage | undefined>;
  #text = '';
  #status: number | undefined;
  #headers: IncomingHttpHeaders = {};
  #isComplete = false;
  #endedMs = Number.POSITIVE_INFINITY;
  #lastByteMs = Number.POSITIVE_INFINITY;

  constructor(options: ExchangeOptions) {
    this.#options = options;
    this.#response = postQuestion({ ...options, timeoutMs }).then(({ response }) => response);
    this.head = this.#response.then((response) => {
      if (response === undefined) return undefined;
      this.#status = response.statusCode ?? 0;
      this.#headers = response.headers;
      return { status: this.#status, headers: this.#headers };
    });
    this.ended = this.#receive();
  }

  /** The address of the edge. */
  get baseUrl(): string {
    return this.#options.baseUrl;
  }

  get shape(): AnswerShape {
    return this.#options.kind.shape;
  }

  /** Undefined if there is none yet, or the connection broke before. */
  get status(): number | undefined {
    return this.#status;
  }

  get headers(): IncomingHttpHeaders {
    return this.#headers;
  }

  /** The received part of the body. */
  get text(): string {
    return this.#text;
  }

  /** The parsed body. Throws if it is no JSON. */
  get json(): unknown {
    return JSON.parse(this.#text);
  }

  /** The parsed data of the received events; data that is no JSON is left as text. */
  get events(): readonly unknown[] {
    return this.#text.split(/\n\n/).flatMap((block) => {
      const data = /^data: (.*)$/m.exec(block)?.[1];
      if (data === undefined) return [];
      try {
        return [JSON.parse(data) as unknown];
      } catch {
        return [data];
      }
    });
  }

  /** Infinity while it continues. */
  get endedMs(): number {
    return this.#endedMs;
  }

  /** The time of the last bytes. */
  get lastByteMs(): number {
    return this.#lastByteMs;
  }

  get heartbeats(): number {
    return this.#text.match(/^: keep-alive$/gm)?.length ?? 0;
  }

  /**
   * The client's result, once it has ended, in a few words: "whole", "cut", "broken", or status and
   * body.
   */
  get ending(): string {
    const { view, problem } = this.asked;
    return view === 'refused' ? `${this.#status} ${this.#text}` : (problem ?? view);
  }

  /** The client's result, once it has ended. */
  get asked(): AskedQuestion {
    const { kind, text } = this.#options;
    if (this.#status === undefined) return { view: 'broken', status: undefined, problem: undefined };
    if (this.#status !== 200) return { view: 'refused', status: this.#status, problem: undefined };
    const expected = kind.shape === 'token_count' ? undefined : `echo: ${text}`;
    const received = { text: this.#text, ended: this.#isComplete };
    const { whole, problem } = readAnswer({ ...received, shape: kind.shape, expected });
    return { view: whole ? 'whole' : 'cut', status: this.#status, problem };
  }

  async #receive(): Promise<this> {
    const response = await this.#response;
    await this.head;
    try {
      for await (const chunk of response?.setEncoding('utf8') ?? []) {
        this.#text += String(chunk);
        this.#lastByteMs = Date.now();
      }
      this.#isComplete = response?.complete ?? false;
    } catch {
      // The other side broke it off.
    }
    this.#endedMs = Date.now();
    return this;
  }
}

/** Longer than any request here may take. */
const timeoutMs = roomMs(60_000);
