import type { Target } from './endpoints.ts';

/** What was sent and what came; secrets are left out, bodies cut to 4 KiB. */
export interface Exchange {
  readonly request: {
    readonly line: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string;
  };
  readonly answer: {
    readonly status: number | undefined;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string;
  };
}

/** Records one answer as it comes. */
export interface Recorder {
  answered(status: number, headers: Readonly<Record<string, string>>): void;
  came(text: string): void;
}

type Recorded = { -readonly [part in keyof Exchange]: Exchange[part] };

/**
 * The requests and answers, without the secrets of the target, and with only the beginning of long
 * bodies.
 */
export class Evidence {
  readonly #recorded: Recorded[] = [];
  readonly #secrets: readonly string[];

  constructor({ token, limitedToken, headers = {} }: Target) {
    const values = [token, limitedToken ?? '', ...Object.values(headers)];
    // A shorter text is no secret, and may occur anywhere.
    this.#secrets = values.filter((value) => value.length >= 8).toSorted((one, other) => other.length - one.length);
  }

  get exchanges(): readonly Exchange[] {
    return this.#recorded.map(({ request, answer }) => ({ request, answer: this.#withoutSecretsIn(answer) }));
  }

  record(line: string, headers: Readonly<Record<string, string>>, body: unknown): Recorder {
    const request = { line, headers: this.#clean(headers), body: this.#text(textOf(body)) };
    const recorded: Recorded = { request, answer: { status: undefined, headers: {}, body: '' } };
    this.#recorded.push(recorded);
    return {
      answered: (status, answered) => {
        recorded.answer = { status, headers: answered, body: '' };
      },
      came: (text) => {
        const { answer } = recorded;
        // More than is shown: removing secrets makes it shorter.
        if (answer.body.length < 2 * longestBody) recorded.answer = { ...answer, body: answer.body + text };
      },
    };
  }

  #withoutSecretsIn({ status, headers, body }: Exchange['answer']): Exchange['answer'] {
    return { status, headers: this.#clean(headers), body: this.#text(body) };
  }

  #clean(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
    return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, this.#text(value)]));
  }

  #text(text: string): string {
    const clean = this.#secrets.reduce((left, secret) => left.replaceAll(secret, '…'), text);
    return clean.length > longestBody ? `${clean.slice(0, longestBody)}\n[cut here]` : clean;
  }
}

const longestBody = 4_096;

function textOf(body: unknown): string {
  if (body === undefined) return '';
  if (typeof body === 'string') return body;
  return body instanceof Uint8Array ? `[${body.length} bytes]` : '[in pieces]';
}
