export * from './billing.ts';
export {
  type ChatAnswer,
  type ChatAnswerOptions,
  type FinishReason,
  streamHeaders,
  type ToolCallStart,
} from './chat-answer.ts';
export { createChatAnswer } from './create-chat-answer.ts';
export * from './parse-chat-request.ts';
export {
  type Billing,
  maxTokenCount,
  type ReportedUsage,
  readTokenCount,
  type TokenUsage,
  toReportedUsage,
  type UsagePass,
  wholeUsage,
} from './token-usage.ts';
