/** The parts of a Messages request that the gateway writes. @see https://platform.claude.com/docs/en/api/messages */
export interface MessagesRequest {
  readonly model: string;
  readonly max_tokens: number;
  readonly stream: true;
  readonly system?: string | undefined;
  readonly messages: readonly ProviderMessage[];
  readonly stop_sequences?: readonly string[] | undefined;
  readonly tools?: readonly ProviderTool[] | undefined;
  readonly tool_choice?: ProviderToolChoice | undefined;
  readonly thinking?: Thinking | undefined;
  readonly output_config?: OutputConfig | undefined;
}

export type ProviderMessage =
  | { readonly role: 'user'; readonly content: readonly UserBlock[] }
  | { readonly role: 'assistant'; readonly content: readonly AssistantBlock[] };

export type UserBlock = ToolResultBlock | TextBlock | ImageBlock;
export type AssistantBlock = TextBlock | ToolUseBlock;

export interface TextBlock {
  readonly type: 'text';
  readonly text: string;
}

export interface ImageBlock {
  readonly type: 'image';
  readonly source:
    | { readonly type: 'url'; readonly url: string }
    | { readonly type: 'base64'; readonly media_type: ImageMediaType; readonly data: string };
}

export type ImageMediaType = 'image/jpeg' | 'image/png' | 'image/gif' | 'image/webp';

export interface ToolUseBlock {
  readonly type: 'tool_use';
  readonly id: string;
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
}

export interface ToolResultBlock {
  readonly type: 'tool_result';
  readonly tool_use_id: string;
  readonly content?: string | readonly TextBlock[] | undefined;
}

export type JsonSchema = Readonly<Record<string, unknown>>;

export interface ProviderTool {
  readonly name: string;
  readonly description?: string | undefined;
  readonly input_schema: JsonSchema;
  readonly strict?: true | undefined;
}

export type ProviderToolChoice =
  | { readonly type: 'none' }
  | { readonly type: 'auto' | 'any'; readonly disable_parallel_tool_use?: true | undefined }
  | { readonly type: 'tool'; readonly name: string; readonly disable_parallel_tool_use?: true | undefined };

export type Thinking =
  | { readonly type: 'adaptive'; readonly display: 'summarized' }
  | { readonly type: 'enabled'; readonly budget_tokens: number }
  | { readonly type: 'disabled' }
  | { readonly type: 'between_tools' };

export type EffortLevel = 'low' | 'medium' | 'high' | 'xhigh' | 'max';

export interface OutputConfig {
  readonly effort?: EffortLevel | undefined;
  readonly format?: { readonly type: 'json_schema'; readonly schema: JsonSchema } | undefined;
}
