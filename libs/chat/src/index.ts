export * from './chat-answer.ts';
export { parseChatRequest } from './parse-chat-request.ts';
export * from './request.ts';
export {
  maxTokenCount,
  type ReportedUsage,
  readTokenCount,
  type TokenUsage,
  toReportedUsage,
  wholeUsage,
} from './token-usage.ts';
