export type { AdapterConfig } from './adapter-config.ts';
export { readAdapterConfig } from './adapter-config.ts';
export type { AdapterContext, AdapterContextOptions } from './adapter-context.ts';
export { createAdapterContext } from './adapter-context.ts';
export { checkAdapterSettings, createAdapterFromEnvironment } from './adapter-from-environment.ts';
export type { AdapterPeers, AdapterServiceOptions } from './adapter-service.ts';
export { createAdapterService } from './adapter-service.ts';
export { estimateInputTokens, estimateOutputTokens } from './attempt/usage.ts';
export { ChatAnswerReader, type ChatAnswerReaderOptions, type ChatEventReader } from './chat-answer-reader.ts';
export { meaningOfStatus, type StatusRule, type StatusRules } from './failure/status-rules.ts';
export type { ErrorMeaning, FailureFacts, Rejection } from './failure/upstream-failure.ts';
export { answerTooLarge, brokenStream, toUpstreamFailure } from './failure/upstream-failure.ts';
export { latestMs, numberIn, readRetryAfterMs, toFutureMs } from './header-values.ts';
export type {
  AnswerEnding,
  AnswerReader,
  ClientRequest,
  PreparedCall,
  ProviderAnswer,
  ProviderFormat,
  QuotaAnswer,
  QuotaWindow,
  TokenCounter,
  TranslationSteps,
  Translator,
  UpstreamErrorAnswer,
  UpstreamFailure,
} from './provider-format.ts';
export { countTokens } from './rpc/count-tokens.ts';
export { execute } from './rpc/execute.ts';
export { listModels } from './rpc/list-models.ts';
export type { ChatAnswerPlan, TranslateChat, TranslatedChat, TranslationContext } from './translation/translation.ts';
export type { UpstreamHead } from './upstream/upstream-exchange.ts';
