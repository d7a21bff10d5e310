export { arbitraryChatRequest } from './arbitrary-chat-request.ts';
export { arbitraryConversation, arbitraryText } from './arbitrary-conversation.ts';
export type {
  ChatRequestBody,
  ClientAssistantMessage,
  ClientImage,
  ClientMessage,
  ClientText,
  ClientTool,
  ClientToolCall,
  ClientUserMessage,
} from './chat-request-body.ts';
export type { CutFormat, RecordedAnswer } from './cut-answers.ts';
export { describeCutAnswers } from './cut-answers.ts';
export type { AssembledAnswer, AssembledCall, Delta, StreamedAnswer } from './delta.ts';
export { args, assemble, call, refusal, text } from './delta.ts';
export type { AnswerCase, ExpectedFailure, GoldenReader, OpenReader } from './golden-answer.ts';
export { describeGoldenAnswers, framed, replay } from './golden-answer.ts';
export { readAnswerCases, readRequestCases } from './golden-files.ts';
export type { GoldenRequestSuite, RefusedRequest, RequestCase } from './golden-request.ts';
export { describeGoldenRequests, isRefusal } from './golden-request.ts';
export { readCompletion, readStreamedAnswer } from './read-client-answer.ts';
export { textOfBody } from './text-of-body.ts';
