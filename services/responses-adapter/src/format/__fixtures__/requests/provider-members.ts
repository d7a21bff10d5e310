import type { RequestCase } from '@gateway/testkit/adapters';
import type OpenAI from 'openai';

/** What a case says of the provider's request: all members but those that every request has. */
export type ProviderMembers = Omit<
  OpenAI.Responses.ResponseCreateParamsStreaming,
  'model' | 'stream' | 'store' | 'input'
> & { readonly input: InputItem[] };

/** An input item; the type of an answer's message asks for an id and a status, which a chat client does not have. */
export type InputItem =
  | Exclude<OpenAI.Responses.ResponseInputItem, OpenAI.Responses.ResponseOutputMessage>
  | AssistantItem;
export type AssistantItem = Omit<OpenAI.Responses.ResponseOutputMessage, 'id' | 'status'>;
export type UserPart = OpenAI.Responses.ResponseInputText | OpenAI.Responses.ResponseInputImage;

export type ResponsesRequestCase = RequestCase<ProviderMembers>;
