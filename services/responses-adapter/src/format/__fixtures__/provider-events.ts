import type OpenAI from 'openai';
import type { OutputItem } from './provider-items.ts';

/** The events of the provider's current SDK. */
export type ProviderStreamEvent = OpenAI.Responses.ResponseStreamEvent;

/**
 * The position of a part: the output index of its item and its index in the item. 0 when absent.
 */
export interface Place {
  readonly item?: number;
  readonly part?: number;
}

export function itemAdded(item: OutputItem, index = 0): ProviderStreamEvent {
  return { type: 'response.output_item.added', sequence_number: 0, output_index: index, item };
}

export function itemDone(item: OutputItem, index = 0): ProviderStreamEvent {
  return { type: 'response.output_item.done', sequence_number: 0, output_index: index, item };
}

export function textDelta(delta: string, place?: Place): ProviderStreamEvent {
  return { type: 'response.output_text.delta', ...partOf('msg', place), delta, logprobs: [] };
}

export function textDone(text: string, place?: Place): ProviderStreamEvent {
  return { type: 'response.output_text.done', ...partOf('msg', place), text, logprobs: [] };
}

export function refusalDelta(delta: string, place?: Place): ProviderStreamEvent {
  return { type: 'response.refusal.delta', ...partOf('msg', place), delta };
}

export function refusalDone(refusal: string, place?: Place): ProviderStreamEvent {
  return { type: 'response.refusal.done', ...partOf('msg', place), refusal };
}

type Part = OpenAI.Responses.ResponseContentPartDoneEvent['part'];

export function partAdded(part: Part, place?: Place): ProviderStreamEvent {
  return { type: 'response.content_part.added', ...partOf('msg', place), part };
}

export function partDone(part: Part, place?: Place): ProviderStreamEvent {
  return { type: 'response.content_part.done', ...partOf('msg', place), part };
}

export function argumentsDelta(delta: string, index = 0): ProviderStreamEvent {
  return { type: 'response.function_call_arguments.delta', ...itemAt('fc', index), delta };
}

export function argumentsDone(written: string, index = 0): ProviderStreamEvent {
  return { type: 'response.function_call_arguments.done', ...itemAt('fc', index), arguments: written };
}

export function summaryDelta(delta: string, index = 0): ProviderStreamEvent {
  return { type: 'response.reasoning_summary_text.delta', ...itemAt('rs', index), summary_index: 0, delta };
}

export function reasoningDelta(delta: string, index = 0): ProviderStreamEvent {
  return { type: 'response.reasoning_text.delta', ...itemAt('rs', index), content_index: 0, delta };
}

/** An `error` event in the SDK's flat form. */
export function errorEvent(code: string | null, message = 'Text of the provider.'): ProviderStreamEvent {
  return { type: 'error', sequence_number: 0, code, message, param: null };
}

function partOf(prefix: string, { item = 0, part = 0 }: Place = {}) {
  return { ...itemAt(prefix, item), content_index: part };
}

function itemAt(prefix: string, index: number) {
  return { sequence_number: 0, item_id: `${prefix}_${index}`, output_index: index };
}
