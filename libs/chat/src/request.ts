/**
 * A chat-completions request, parsed and checked. Only what the gateway uses is here; other parameters are ignored.
 * @see spec "POST /v1/chat/completions"
 */
export interface ChatRequest {
  readonly model: string;
  readonly messages: readonly ChatMessage[];
  readonly stream: boolean;
  readonly includeUsage: boolean;
  /** `max_completion_tokens`, else `max_tokens`. */
  readonly maxOutputTokens: number | undefined;
  /** Empty when none was given. */
  readonly stop: readonly string[];
  readonly tools: readonly FunctionTool[];
  readonly toolChoice: ToolChoice | undefined;
  readonly parallelToolCalls: boolean | undefined;
  readonly responseFormat: ResponseFormat;
  readonly reasoningEffort: ReasoningEffort | undefined;
  readonly promptCacheKey: string | undefined;
}

export type ChatMessage = SystemMessage | UserMessage | AssistantMessage | ToolMessage;

/** `developer` is read as `system`. */
export interface SystemMessage {
  readonly role: 'system';
  readonly text: readonly string[];
}

export interface UserMessage {
  readonly role: 'user';
  readonly parts: readonly UserPart[];
}

export type UserPart = TextPart | ImagePart;

export interface TextPart {
  readonly type: 'text';
  readonly text: string;
}

export interface ImagePart {
  readonly type: 'image';
  /** An http(s) or data URL. */
  readonly url: string;
  readonly detail: 'auto' | 'low' | 'high' | 'original' | undefined;
}

export interface AssistantMessage {
  readonly role: 'assistant';
  /** Text parts in order; refusals count as text of their own kind. */
  readonly parts: readonly AssistantPart[];
  readonly toolCalls: readonly ToolCall[];
}

export type AssistantPart = TextPart | { readonly type: 'refusal'; readonly text: string };

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** JSON text as the model wrote it; may be empty or broken. */
  readonly arguments: string;
}

export interface ToolMessage {
  readonly role: 'tool';
  readonly toolCallId: string;
  readonly text: readonly string[];
}

export interface FunctionTool {
  readonly name: string;
  readonly description: string | undefined;
  /** JSON Schema of the arguments. */
  readonly parameters: Readonly<Record<string, unknown>> | undefined;
  readonly strict: boolean | undefined;
}

export type ToolChoice = 'none' | 'auto' | 'required' | { readonly functionName: string };

export type ResponseFormat =
  | { readonly type: 'text' }
  | { readonly type: 'json_object' }
  | {
      readonly type: 'json_schema';
      readonly name: string;
      readonly description: string | undefined;
      readonly schema: Readonly<Record<string, unknown>> | undefined;
      readonly strict: boolean | undefined;
    };

export const reasoningEfforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max', 'ultra'] as const;
export type ReasoningEffort = (typeof reasoningEfforts)[number];
