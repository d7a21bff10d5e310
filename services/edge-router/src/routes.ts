import type { AuthHeader } from './authentication/authenticate.ts';
import type { BodyLimits } from './body/read-body.ts';
import { chatCompletions } from './endpoints/chat-completions.ts';
import type { Endpoint } from './endpoints/endpoint.ts';
import { countTokens, messages } from './endpoints/messages.ts';
import { models } from './endpoints/models.ts';
import { responses } from './endpoints/responses.ts';
import { usage } from './endpoints/usage.ts';
import type { ErrorDialect } from './errors/render-error.ts';

/** One row of the public API: what is decided by path and method alone. */
export interface Route {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly errorDialect: ErrorDialect;
  /** The header in which the specification wants the token; the other kind is accepted too. */
  readonly authHeader: AuthHeader;
  /** What a request costs its token; `nothing` takes no slot. */
  readonly cost: 'request_and_tokens' | 'request_only' | 'nothing';
  /** Whether answers carry `x-ratelimit-*`. */
  readonly sendsRateLimitHeaders: boolean;
  readonly body: BodyLimits;
  /** Whether its requests are in the request log: those that ask a model. */
  readonly isLogged: boolean;
  readonly endpoint: Endpoint;
}

const MiB = 1024 * 1024;

/** What asks a model. @see spec "Endpoints", "Size limits" */
const generation = { method: 'POST', cost: 'request_and_tokens', sendsRateLimitHeaders: true, isLogged: true } as const;
const reading = {
  method: 'GET',
  errorDialect: 'chat',
  authHeader: 'authorization',
  sendsRateLimitHeaders: false,
  body: { limitBytes: 0, acceptsCompression: false },
  isLogged: false,
} as const;
const ofMessages = {
  ...generation,
  errorDialect: 'messages',
  authHeader: 'x-api-key',
  body: { limitBytes: 16 * MiB, acceptsCompression: false },
} as const;

export const routes: readonly Route[] = [
  {
    ...generation,
    path: '/v1/chat/completions',
    errorDialect: 'chat',
    authHeader: 'authorization',
    body: { limitBytes: 16 * MiB, acceptsCompression: true },
    endpoint: chatCompletions,
  },
  { ...ofMessages, path: '/v1/messages', endpoint: messages },
  { ...ofMessages, path: '/v1/messages/count_tokens', cost: 'request_only', endpoint: countTokens },
  {
    ...generation,
    path: '/v1/responses',
    errorDialect: 'responses',
    authHeader: 'authorization',
    body: { limitBytes: 64 * MiB, acceptsCompression: true },
    endpoint: responses,
  },
  { ...reading, path: '/v1/models', cost: 'request_only', endpoint: models },
  { ...reading, path: '/v1/usage', cost: 'nothing', endpoint: usage },
];
