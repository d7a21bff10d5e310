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

export const postEndpoints = ['chat', 'messages', 'count-tokens', 'responses'] as const;
export type PostEndpoint = (typeof postEndpoints)[number];

/** The endpoints of the Messages format, with its errors. */
export const isMessages = (endpoint: Endpoint) => endpoint === 'messages' || endpoint === 'count-tokens';

/** The gateway under test, and its description. */
export interface Target {
  /** Without `/v1`. */
  readonly url: string;
  readonly token: string;
  /** A token with only `limitedRequestsPerMinute` requests a minute. */
  readonly limitedToken?: string | undefined;
  readonly limitedRequestsPerMinute?: number | undefined;
  /** The model to ask, for each endpoint that the gateway claims. Other endpoints are skipped. */
  readonly models: Readonly<Partial<Record<Endpoint, string>>>;
  /** Sent with every request, for gateways that choose the provider by headers. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Whether at least two accounts lead to the double. */
  readonly hasSecondAccount?: boolean;
}
