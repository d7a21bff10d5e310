export {
  type ChatAnswer,
  type ChatAnswerOptions,
  type FinishReason,
  streamHeaders,
  type ToolCallStart,
} from './chat-answer.ts';
export { createChatAnswer } from './create-chat-answer.ts';
export * from './parse-chat-request.ts';
export * from './token-usage.ts';
