import type { AuthHeader } from './authentication/authenticate.ts';
import type { BodyLimits } from './body/read-body.ts';
import { chatCompletions } from './endpoints/chat-completions.ts';
import { countTokens } from './endpoints/count-tokens.ts';
import type { Endpoint } from './endpoints/endpoint.ts';
import { messages } from './endpoints/messages.ts';
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
const noBody: BodyLimits = { limitBytes: 0, acceptsCompression: false };

/** @see spec "Endpoints", "Size limits" */
export const routes: readonly Route[] = [
  {
    method: 'POST',
    path: '/v1/chat/completions',
    errorDialect: 'chat',
    authHeader: 'authorization',
    cost: 'request_and_tokens',
    sendsRateLimitHeaders: true,
    body: { limitBytes: 16 * MiB, acceptsCompression: true },
    isLogged: true,
    endpoint: chatCompletions,
  },
  {
    method: 'POST',
    path: '/v1/messages',
    errorDialect: 'messages',
    authHeader: 'x-api-key',
    cost: 'request_and_tokens',
    sendsRateLimitHeaders: true,
    body: { limitBytes: 16 * MiB, acceptsCompression: false },
    isLogged: true,
    endpoint: messages,
  },
  {
    method: 'POST',
    path: '/v1/messages/count_tokens',
    errorDialect: 'messages',
    authHeader: 'x-api-key',
    cost: 'request_only',
    sendsRateLimitHeaders: true,
    body: { limitBytes: 16 * MiB, acceptsCompression: false },
    isLogged: true,
    endpoint: countTokens,
  },
  {
    method: 'POST',
    path: '/v1/responses',
    errorDialect: 'responses',
    authHeader: 'authorization',
    cost: 'request_and_tokens',
    sendsRateLimitHeaders: true,
    body: { limitBytes: 64 * MiB, acceptsCompression: true },
    isLogged: true,
    endpoint: responses,
  },
  {
    method: 'GET',
    path: '/v1/models',
    errorDialect: 'chat',
    authHeader: 'authorization',
    cost: 'request_only',
    sendsRateLimitHeaders: false,
    body: noBody,
    isLogged: false,
    endpoint: models,
  },
  {
    method: 'GET',
    path: '/v1/usage',
    errorDialect: 'chat',
    authHeader: 'authorization',
    cost: 'nothing',
    sendsRateLimitHeaders: false,
    body: noBody,
    isLogged: false,
    endpoint: usage,
  },
];
