import type { MaybeUndefined } from '@gateway/json';
import type OpenAI from 'openai';

type Responses = OpenAI.Responses.ResponseCreateParamsStreaming;

/**
 * A Responses request for a chat request. It has no member for an output limit, stop sequences or
 * sampling, because subscription backends refuse them.
 * @see https://platform.openai.com/docs/api-reference/responses/create
 */
export type ResponsesRequest = MaybeUndefined<Omit<Responses, 'input'>> & { readonly input: readonly InputItem[] };

export type InputItem = MessageItem | AssistantItem | FunctionCallItem | FunctionCallOutputItem;
/** A message of the user or of a developer. */
export type MessageItem = OpenAI.Responses.ResponseInputItem.Message & { type: 'message' };
/** Without the id and status of the provider's own items: a chat client has neither. */
export type AssistantItem = Omit<OpenAI.Responses.ResponseOutputMessage, 'id' | 'status'>;
/**
 * Without an item id: an id would bind the call to a reasoning item that a chat client never has.
 */
export type FunctionCallItem = Omit<OpenAI.Responses.ResponseFunctionToolCall, 'id'>;
export type FunctionCallOutputItem = OpenAI.Responses.ResponseInputItem.FunctionCallOutput;
export type InputText = OpenAI.Responses.ResponseInputText;
export type InputImage = OpenAI.Responses.ResponseInputImage;

/** The members of a request that concern tools; all are absent when there are none. */
export type ToolMembers = MaybeUndefined<Pick<Responses, 'tools' | 'tool_choice' | 'parallel_tool_calls'>>;
export type ResponsesTool = OpenAI.Responses.FunctionTool;
export type ResponsesToolChoice = Responses['tool_choice'];

/** `text` of a Responses request; absent for plain text. */
export type TextMember = Responses['text'];

/** Every effort that the provider knows, weakest first. */
export const wireEfforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;
export type WireEffort = (typeof wireEfforts)[number];
