import type Anthropic from '@anthropic-ai/sdk';
import type { MaybeUndefined } from '@gateway/json';

/**
 * The parts of a Messages request that the gateway writes.
 * @see https://platform.claude.com/docs/en/api/messages
 */
export type MessagesRequest = MaybeUndefined<Anthropic.MessageCreateParamsStreaming>;

export type ProviderMessage =
  | { readonly role: 'user'; readonly content: (TextBlock | ImageBlock | ToolResultBlock)[] }
  | { readonly role: 'assistant'; readonly content: (TextBlock | ToolUseBlock)[] };
export type TextBlock = Anthropic.TextBlockParam;
export type ImageBlock = Anthropic.ImageBlockParam;
export type ImageMediaType = Anthropic.Base64ImageSource['media_type'];
export type ToolUseBlock = Anthropic.ToolUseBlockParam;
export type ToolResultBlock = Omit<Anthropic.ToolResultBlockParam, 'content'> & { content?: string | TextBlock[] };
export type ProviderTool = Anthropic.Tool;
export type ProviderToolChoice = Anthropic.ToolChoice;
export type Thinking = Anthropic.ThinkingConfigParam;
export type OutputConfig = Anthropic.OutputConfig;
export type EffortLevel = NonNullable<OutputConfig['effort']>;
export type ToolSchema = Anthropic.Tool.InputSchema;
export type JsonSchema = Readonly<Record<string, unknown>>;
