export { type AdapterConfig, readAdapterConfig } from './adapter-config.ts';
export * from './adapter-context.ts';
export * from './adapter-service.ts';
export { estimateInputTokens, estimateOutputTokens } from './attempt/estimate-tokens.ts';
export * from './chosen-tier.ts';
export * from './event-stream-reader.ts';
export * from './failure/attempt-failure.ts';
export * from './failure/error-meanings.ts';
export * from './failure/error-texts.ts';
export * from './failure/meaning-rules.ts';
export type * from './format-definition.ts';
export {
  type AnswerTime,
  fromProviderMs,
  latestMs,
  numberIn,
  readRetryAfterMs,
  toFutureMs,
  withLaterQuotas,
} from './quotas.ts';
export { readModels } from './rpc/list-models.ts';
export * from './translation/translation.ts';
export type { UpstreamHead } from './upstream/upstream-exchange.ts';
