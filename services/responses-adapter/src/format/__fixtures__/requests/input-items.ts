import type { AssistantItem, InputItem, UserPart } from './provider-members.ts';

export const inputText = (text: string): UserPart => ({ type: 'input_text', text });

export const inputImage = (image_url: string, detail: 'auto' | 'low' | 'high' | 'original' = 'auto'): UserPart => ({
  type: 'input_image',
  image_url,
  detail,
});

/** A user's message. A part may be given by its text. */
export const userItem = (...parts: readonly (string | UserPart)[]): InputItem => ({
  type: 'message',
  role: 'user',
  content: parts.map((part) => (typeof part === 'string' ? inputText(part) : part)),
});

export const developerItem = (...texts: readonly string[]): InputItem => ({
  type: 'message',
  role: 'developer',
  content: texts.map(inputText),
});

export const assistantItem = (...content: readonly (string | { readonly refusal: string })[]): AssistantItem => ({
  type: 'message',
  role: 'assistant',
  content: content.map((part) =>
    typeof part === 'string'
      ? { type: 'output_text', text: part, annotations: [] }
      : { type: 'refusal', refusal: part.refusal },
  ),
});

export const callItem = (call_id: string, name: string, written: string): InputItem => ({
  type: 'function_call',
  call_id,
  name,
  arguments: written,
});

export const outputItem = (call_id: string, output: string): InputItem => ({
  type: 'function_call_output',
  call_id,
  output,
});
