import { CostKind } from '@gateway/proto/limiter/v2/limit_pb.js';
import { chatCompletions } from './endpoints/chat-completions.ts';
import { countTokens, messages } from './endpoints/messages.ts';
import { models } from './endpoints/models.ts';
import { responses } from './endpoints/responses.ts';
import { usage } from './endpoints/usage.ts';
import type { Route } from './request-context.ts';

const MiB = 1024 * 1024;

/** The endpoints that use a model. @see spec "Endpoints", "Size limits" */
const generation = {
  method: 'post',
  cost: CostKind.REQUEST_AND_TOKENS,
  authHeader: 'authorization',
  operation: 'chat',
} as const;
const reading = {
  method: 'get',
  errorDialect: 'chat',
  authHeader: 'authorization',
  operation: undefined,
  body: { limitBytes: 0, acceptsCompression: false },
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
    body: { limitBytes: 16 * MiB, acceptsCompression: true },
    endpoint: chatCompletions,
  },
  { ...ofMessages, path: '/v1/messages', endpoint: messages },
  {
    ...ofMessages,
    path: '/v1/messages/count_tokens',
    operation: 'count_tokens',
    cost: CostKind.REQUEST_ONLY,
    endpoint: countTokens,
  },
  {
    ...generation,
    path: '/v1/responses',
    errorDialect: 'responses',
    body: { limitBytes: 64 * MiB, acceptsCompression: true },
    endpoint: responses,
  },
  { ...reading, path: '/v1/models', cost: CostKind.REQUEST_ONLY, endpoint: models },
  { ...reading, path: '/v1/usage', cost: undefined, endpoint: usage },
];
