/** The endpoints that a gateway may claim. */
export type Endpoint = 'chat' | 'messages' | 'count-tokens' | 'responses' | 'models' | 'usage';

export const paths: Readonly<Record<Endpoint, string>> = {
  chat: '/v1/chat/completions',
  messages: '/v1/messages',
  'count-tokens': '/v1/messages/count_tokens',
  responses: '/v1/responses',
  models: '/v1/models',
  usage: '/v1/usage',
};

export const endpoints = Object.keys(paths) as readonly Endpoint[];

/** Those of the Messages format, with its errors. */
export const isMessages = (endpoint: Endpoint) => endpoint === 'messages' || endpoint === 'count-tokens';

/** One request to the gateway. Without more it is a POST of JSON with the token as a bearer. */
export interface Ask {
  readonly method?: string;
  /** In place of the endpoint's own. */
  readonly path?: string;
  /** Added to, or with `undefined` taken from, what is sent otherwise. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  /** A value is sent as JSON, bytes and text as they are, an iterable in pieces with chunked encoding. */
  readonly body?: unknown;
  /** Which of the tokens. `none` sends no credentials. */
  readonly as?: 'token' | 'limited-token' | 'none';
  /** Hangs up, wherever the exchange stands. The call rejects with its reason. */
  readonly signal?: AbortSignal;
}

/** An answer that was read to its end. */
export interface Answer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  /** @throws Violation when the text is not JSON. */
  json(): unknown;
}

/** An answer whose events are read as they come. Leaving the loop hangs up. */
export interface StreamedAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  events(): AsyncIterable<ServerSentEvent>;
  /** All events, then how the answer ended. `cut`: the connection went without the end of the body, where `events` throws. */
  all(): Promise<{ readonly events: readonly ServerSentEvent[]; readonly end: 'whole' | 'cut' }>;
  hangUp(): void;
}

/** One event, as it stood on the wire. */
export interface ServerSentEvent {
  readonly event: string | undefined;
  readonly data: string;
  /** @throws Violation when the data is not JSON. */
  json(): unknown;
}

/** Speaks to the gateway and keeps what was said, for the report. */
export interface GatewayClient {
  ask(endpoint: Endpoint, ask?: Ask): Promise<Answer>;
  stream(endpoint: Endpoint, ask?: Ask): Promise<StreamedAnswer>;
  /** What was sent and what came, in order; secrets are left out, bodies cut to 4 KiB. */
  readonly exchanges: readonly Exchange[];
}

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
