import type OpenAI from 'openai';

export type OutputItem = OpenAI.Responses.ResponseOutputItem;
type OutputMessage = OpenAI.Responses.ResponseOutputMessage;
type FunctionCall = OpenAI.Responses.ResponseFunctionToolCall;
type Reasoning = OpenAI.Responses.ResponseReasoningItem;

export function message(content: string | OutputMessage['content'], members: Partial<OutputMessage> = {}) {
  return {
    type: 'message',
    id: 'msg_0',
    role: 'assistant',
    status: 'completed',
    content: typeof content === 'string' ? [textPart(content)] : content,
    ...members,
  } satisfies OutputMessage;
}

export function textPart(text: string) {
  return { type: 'output_text', text, annotations: [], logprobs: [] } satisfies OpenAI.Responses.ResponseOutputText;
}

export function refusalPart(refusal: string) {
  return { type: 'refusal', refusal } satisfies OpenAI.Responses.ResponseOutputRefusal;
}

/** A call as an item: the client refers to `call_id`; `id` is the item's own. */
export function functionCall(callId: string, name: string, written = '', members: Partial<FunctionCall> = {}) {
  return {
    type: 'function_call',
    id: `fc_${callId}`,
    call_id: callId,
    name,
    arguments: written,
    ...members,
  } satisfies FunctionCall;
}

export function reasoning(members: Partial<Reasoning> = {}) {
  return { type: 'reasoning', id: 'rs_0', summary: [], ...members } satisfies Reasoning;
}
