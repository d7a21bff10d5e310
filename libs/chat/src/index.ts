export type {
  ChatAnswer,
  ChatAnswerHead,
  ChatAnswerOptions,
  ChatAnswerSink,
  FinishReason,
  ToolCallStart,
} from './chat-answer.ts';
export { createChatAnswer } from './chat-answer.ts';
export { parseChatRequest } from './parse-chat-request.ts';
export type {
  AssistantMessage,
  AssistantPart,
  ChatMessage,
  ChatRequest,
  FunctionTool,
  ImagePart,
  ReasoningEffort,
  ResponseFormat,
  SystemMessage,
  TextPart,
  ToolCall,
  ToolChoice,
  ToolMessage,
  UserMessage,
  UserPart,
} from './request.ts';
export { reasoningEfforts } from './request.ts';
export type { ReportedUsage, TokenUsage } from './token-usage.ts';
export { maxTokenCount, readTokenCount, toReportedUsage, wholeUsage } from './token-usage.ts';
