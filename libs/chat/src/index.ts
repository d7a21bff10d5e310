export * from './chat-answer.ts';
export * from './parse-chat-request.ts';
export {
  maxTokenCount,
  type ReportedUsage,
  readTokenCount,
  type TokenUsage,
  toReportedUsage,
  wholeUsage,
} from './token-usage.ts';
