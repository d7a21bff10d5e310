import { EventStream } from './event-stream.ts';
import type { Endpoint } from './request-draft.ts';

/** What an answer says so far. */
export interface ReadAnswer {
  readonly text: string;
  /** Whether the model has begun to answer or to think. */
  readonly hasBegun: boolean;
  readonly usage: AnswerUsage | undefined;
  /** Why the model stopped, in the word of the format. */
  readonly finish: string;
  /** The code and message of an error, also of one in the middle of a stream. */
  readonly error: string;
  /** Whether the end that the format promises has come. */
  readonly isComplete: boolean;
}

export interface AnswerUsage {
  readonly input: number | undefined;
  readonly output: number | undefined;
}

const nothingYet: ReadAnswer = {
  ...{ text: '', hasBegun: false, usage: undefined, finish: '', error: '', isComplete: false },
};

/** Reads the bytes of an answer, an event stream or JSON, as they arrive. */
export class AnswerReader {
  readonly #endpoint: Endpoint;
  /** Undefined: the answer is JSON. */
  readonly #events: EventStream | undefined;
  readonly #decoder = new TextDecoder();
  #answer = nothingYet;
  #raw = '';

  constructor(endpoint: Endpoint, contentType: string) {
    this.#endpoint = endpoint;
    this.#events = contentType.startsWith('text/event-stream') ? new EventStream() : undefined;
  }

  get answer(): ReadAnswer {
    return this.#answer;
  }

  /** The answer as it came. A long stream is cut. */
  get raw(): string {
    return this.#raw;
  }

  push(bytes: Uint8Array): void {
    const text = this.#decoder.decode(bytes, { stream: true });
    if (this.#events === undefined || this.#raw.length < mostRaw) this.#raw += text;
    for (const { data } of this.#events?.push(text) ?? []) this.#take(data, fromEvent);
  }

  end(): void {
    if (this.#events === undefined) this.#take(this.#raw, fromJson);
  }

  #take(data: string, readers: Readonly<Record<Endpoint, Reader>>): void {
    if (data === '[DONE]') this.#answer = { ...this.#answer, isComplete: true };
    const value = parsed(data);
    if (value === undefined) return;
    const { text = '', usage, ...rest } = readers[this.#endpoint](value);
    const { error = '' } = { ...errorIn(value), ...rest };
    const before = this.#answer;
    this.#answer = {
      ...before,
      ...rest,
      text: before.text + text,
      hasBegun: before.hasBegun || text !== '' || rest.hasBegun === true,
      usage: merged(before.usage, usage),
      error: error || before.error,
    };
  }
}

/** Enough to read. */
const mostRaw = 200_000;

/** What one event adds. Its text is added to the text before it. */
type Reader = (value: unknown) => Partial<ReadAnswer>;

const fromEvent: Readonly<Record<Endpoint, Reader>> = {
  chat: (chunk) => ({
    text: textAt(chunk, 'choices', 0, 'delta', 'content'),
    ...finishOf(textAt(chunk, 'choices', 0, 'finish_reason')),
    usage: usageAt(at(chunk, 'usage'), 'prompt_tokens', 'completion_tokens'),
  }),
  messages: (event) => ({
    text: textAt(event, 'delta', 'text'),
    hasBegun: textAt(event, 'type') === 'content_block_start',
    ...finishOf(textAt(event, 'delta', 'stop_reason')),
    usage: usageAt(at(event, 'usage') ?? at(event, 'message', 'usage'), 'input_tokens', 'output_tokens'),
    ...(textAt(event, 'type') === 'message_stop' && { isComplete: true }),
  }),
  responses: (event) => {
    const type = textAt(event, 'type');
    const response = at(event, 'response');
    return {
      text: type === 'response.output_text.delta' ? textAt(event, 'delta') : '',
      hasBegun: type === 'response.output_item.added',
      ...(endsOfResponses.includes(type) && { isComplete: true, ...ofResponse(response) }),
    };
  },
};

const endsOfResponses = ['response.completed', 'response.incomplete', 'response.failed'];

const fromJson: Readonly<Record<Endpoint, Reader>> = {
  chat: (body) => ({
    text: textAt(body, 'choices', 0, 'message', 'content'),
    ...finishOf(textAt(body, 'choices', 0, 'finish_reason')),
    usage: usageAt(at(body, 'usage'), 'prompt_tokens', 'completion_tokens'),
    isComplete: true,
  }),
  messages: (body) => ({
    text: listAt(body, 'content')
      .map((block) => textAt(block, 'text'))
      .join(''),
    ...finishOf(textAt(body, 'stop_reason')),
    usage: usageAt(at(body, 'usage'), 'input_tokens', 'output_tokens'),
    isComplete: true,
  }),
  // Only errors: answers are always streams.
  responses: (body) => ({ ...ofResponse(body), isComplete: true }),
};

function ofResponse(response: unknown): Partial<ReadAnswer> {
  return {
    ...finishOf(textAt(response, 'status')),
    usage: usageAt(at(response, 'usage'), 'input_tokens', 'output_tokens'),
    ...errorIn(response),
  };
}

function finishOf(finish: string): Partial<ReadAnswer> {
  return finish === '' ? {} : { finish };
}

/** The error of each format has this place: a code or type, and a message. */
function errorIn(value: unknown): { readonly error?: string } {
  const error = at(value, 'error') ?? undefined;
  if (error === undefined) return {};
  const parts = [textAt(error, 'code') || textAt(error, 'type'), textAt(error, 'message')];
  return { error: parts.filter(Boolean).join(': ') || JSON.stringify(error) };
}

function usageAt(usage: unknown, input: string, output: string): AnswerUsage | undefined {
  const found = { input: numberAt(usage, input), output: numberAt(usage, output) };
  return found.input === undefined && found.output === undefined ? undefined : found;
}

/** Counts are cumulative, and an event may have one of them. */
function merged(before: AnswerUsage | undefined, next: AnswerUsage | undefined): AnswerUsage | undefined {
  if (before === undefined || next === undefined) return next ?? before;
  return { input: next.input ?? before.input, output: next.output ?? before.output };
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

function at(value: unknown, ...path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>(
    (here, name) =>
      typeof here === 'object' && here !== null && Object.hasOwn(here, name)
        ? (here as Readonly<Record<string | number, unknown>>)[name]
        : undefined,
    value,
  );
}

function textAt(value: unknown, ...path: readonly (string | number)[]): string {
  const found = at(value, ...path);
  return typeof found === 'string' ? found : '';
}

function numberAt(value: unknown, ...path: readonly (string | number)[]): number | undefined {
  const found = at(value, ...path);
  return typeof found === 'number' ? found : undefined;
}

function listAt(value: unknown, ...path: readonly (string | number)[]): readonly unknown[] {
  const found = at(value, ...path);
  return Array.isArray(found) ? found : [];
}
