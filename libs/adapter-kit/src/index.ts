export type { AdapterConfig } from './adapter-config.ts';
export { readAdapterConfig } from './adapter-config.ts';
export type { AdapterContext, AdapterContextOptions, AdapterPeers, AdapterServiceOptions } from './adapter-service.ts';
export {
  checkAdapterSettings,
  createAdapterContext,
  createAdapterFromEnvironment,
  createAdapterService,
} from './adapter-service.ts';
export { estimateInputTokens, estimateOutputTokens } from './attempt/answer-frames.ts';
export { ChatAnswerReader, type ChatAnswerReaderOptions, type ChatEventReader } from './chat-answer-reader.ts';
export type { ErrorMeaning, FailureFacts, Rejection } from './failure/upstream-failure.ts';
export {
  answerTooLarge,
  brokenStream,
  meaningOfStatus,
  type StatusRule,
  type StatusRules,
  toUpstreamFailure,
} from './failure/upstream-failure.ts';
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
  Translator,
  UpstreamErrorAnswer,
  UpstreamFailure,
} from './provider-format.ts';
export { countTokens } from './rpc/count-tokens.ts';
export { execute } from './rpc/execute.ts';
export { listModels } from './rpc/list-models.ts';
export type { ChatAnswerPlan, TranslateChat, TranslatedChat, TranslationContext } from './translation/translation.ts';
export type { UpstreamHead } from './upstream/upstream-exchange.ts';
