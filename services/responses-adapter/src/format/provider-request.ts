/**
 * A Responses request that answers a chat request. It has no member for an output limit, stop sequences or sampling:
 * subscription backends refuse them. @see https://platform.openai.com/docs/api-reference/responses/create
 */
export interface ResponsesRequest extends ToolMembers {
  readonly model: string;
  /** Streamed whatever the client asked for: a long answer would else run into idle timeouts. */
  readonly stream: true;
  readonly store: false;
  readonly instructions: string | undefined;
  readonly input: readonly InputItem[];
  readonly text: TextMember | undefined;
  readonly reasoning: { readonly effort: WireEffort } | undefined;
  readonly prompt_cache_key: string | undefined;
}

export type InputItem = DeveloperItem | UserItem | AssistantItem | FunctionCallItem | FunctionCallOutputItem;

export interface DeveloperItem {
  readonly type: 'message';
  readonly role: 'developer';
  readonly content: readonly InputText[];
}

export interface UserItem {
  readonly type: 'message';
  readonly role: 'user';
  readonly content: readonly (InputText | InputImage)[];
}

export interface AssistantItem {
  readonly type: 'message';
  readonly role: 'assistant';
  readonly content: readonly (OutputText | Refusal)[];
}

/** Without an item id: an id would bind the call to a reasoning item that a chat client never has. */
export interface FunctionCallItem {
  readonly type: 'function_call';
  readonly call_id: string;
  readonly name: string;
  readonly arguments: string;
}

export interface FunctionCallOutputItem {
  readonly type: 'function_call_output';
  readonly call_id: string;
  readonly output: string;
}

export interface InputText {
  readonly type: 'input_text';
  readonly text: string;
}

/** An image of a user message, https or data URL unchanged. */
export interface InputImage {
  readonly type: 'input_image';
  readonly image_url: string;
  readonly detail: 'auto' | 'low' | 'high' | 'original';
}

export interface OutputText {
  readonly type: 'output_text';
  readonly text: string;
  readonly annotations: readonly never[];
}

export interface Refusal {
  readonly type: 'refusal';
  readonly refusal: string;
}

/** The members of a request that concern tools; all absent when there are none. */
export interface ToolMembers {
  readonly tools?: readonly ResponsesTool[];
  readonly tool_choice?: ResponsesToolChoice | undefined;
  readonly parallel_tool_calls?: boolean | undefined;
}

export interface ResponsesTool {
  readonly type: 'function';
  readonly name: string;
  readonly description: string | undefined;
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly strict: boolean;
}

export type ResponsesToolChoice = 'none' | 'auto' | 'required' | { readonly type: 'function'; readonly name: string };

/** `text` of a Responses request; absent for plain text. */
export interface TextMember {
  readonly format:
    | { readonly type: 'json_object' }
    | {
        readonly type: 'json_schema';
        readonly name: string;
        readonly description: string | undefined;
        readonly schema: Readonly<Record<string, unknown>>;
        readonly strict: boolean | undefined;
      };
}

/** Every effort that the provider knows, weakest first. */
export const wireEfforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;
export type WireEffort = (typeof wireEfforts)[number];
