import type { ReasoningEffort } from '@gateway/chat';

/** A chat request as a client writes it, before parsing and validation. */
export interface ChatRequestBody {
  readonly model: string;
  readonly messages: readonly ClientMessage[];
  readonly tools?: readonly ClientTool[];
  readonly tool_choice?: ClientToolChoice;
  readonly parallel_tool_calls?: boolean;
  readonly response_format?: ClientResponseFormat;
  readonly reasoning_effort?: ReasoningEffort;
  readonly max_completion_tokens?: number;
  readonly max_tokens?: number;
  readonly stop?: string | readonly string[];
  readonly prompt_cache_key?: string;
  readonly temperature?: number;
  readonly top_p?: number;
  readonly n?: 1;
}

export type ClientMessage = ClientSystemMessage | ClientUserMessage | ClientAssistantMessage | ClientToolMessage;

export interface ClientSystemMessage {
  readonly role: 'system' | 'developer';
  readonly content: string | readonly ClientText[];
}

export interface ClientUserMessage {
  readonly role: 'user';
  readonly content: string | readonly (ClientText | ClientImage)[];
}

export interface ClientAssistantMessage {
  readonly role: 'assistant';
  readonly content: string | null | readonly (ClientText | ClientRefusal)[];
  readonly refusal?: string | null;
  readonly tool_calls?: readonly ClientToolCall[];
}

export interface ClientToolMessage {
  readonly role: 'tool';
  readonly tool_call_id: string;
  readonly content: string | readonly ClientText[];
}

export interface ClientText {
  readonly type: 'text';
  readonly text: string;
}

export interface ClientRefusal {
  readonly type: 'refusal';
  readonly refusal: string;
}

export interface ClientImage {
  readonly type: 'image_url';
  readonly image_url: { readonly url: string; readonly detail?: 'auto' | 'low' | 'high' | 'original' };
}

export interface ClientToolCall {
  readonly id: string;
  readonly type: 'function';
  readonly function: { readonly name: string; readonly arguments: string };
}

export interface ClientTool {
  readonly type: 'function';
  readonly function: {
    readonly name: string;
    readonly description?: string;
    readonly parameters?: Readonly<Record<string, unknown>>;
    readonly strict?: boolean;
  };
}

export type ClientToolChoice =
  | 'none'
  | 'auto'
  | 'required'
  | { readonly type: 'function'; readonly function: { readonly name: string } };

export type ClientResponseFormat =
  | { readonly type: 'text' | 'json_object' }
  | {
      readonly type: 'json_schema';
      readonly json_schema: {
        readonly name: string;
        readonly description?: string;
        readonly schema?: Readonly<Record<string, unknown>>;
        readonly strict?: boolean;
      };
    };
