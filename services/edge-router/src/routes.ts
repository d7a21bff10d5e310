import type { AuthHeader } from './authentication/credentials.ts';
import { chatCompletions } from './endpoints/chat-completions.ts';
import type { Endpoint } from './endpoints/endpoint.ts';
import { models } from './endpoints/models.ts';
import { usage } from './endpoints/usage.ts';
import type { ErrorDialect } from './errors/error-dialect.ts';

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
  readonly endpoint: Endpoint;
}

/** @see spec "Endpoints" */
export const routes: readonly Route[] = [
  {
    method: 'POST',
    path: '/v1/chat/completions',
    errorDialect: 'chat',
    authHeader: 'authorization',
    cost: 'request_and_tokens',
    sendsRateLimitHeaders: true,
    endpoint: chatCompletions,
  },
  {
    method: 'GET',
    path: '/v1/models',
    errorDialect: 'chat',
    authHeader: 'authorization',
    cost: 'request_only',
    sendsRateLimitHeaders: false,
    endpoint: models,
  },
  {
    method: 'GET',
    path: '/v1/usage',
    errorDialect: 'chat',
    authHeader: 'authorization',
    cost: 'nothing',
    sendsRateLimitHeaders: false,
    endpoint: usage,
  },
];
