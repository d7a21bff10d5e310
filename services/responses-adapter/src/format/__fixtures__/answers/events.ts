import type { AnswerCase } from '@gateway/testkit/adapters';
import type OpenAI from 'openai';
import { message, type OutputItem, refusalPart, textPart } from './items.ts';

/** The events of the provider's current SDK. What only some backends send goes into a case as a string. */
export type ProviderStreamEvent = OpenAI.Responses.ResponseStreamEvent;

export type ResponsesAnswer = AnswerCase<ProviderStreamEvent>;

/** Events of a case in order; a string goes over the wire as it stands. */
export type CaseEvents = ResponsesAnswer['events'];

/** Where a part stands: the output index of its item and its index in there. 0 when absent. */
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

/** An `error` event in the form that the SDK knows: flat. */
export function errorEvent(code: string | null, message = 'Text of the provider.'): ProviderStreamEvent {
  return { type: 'error', sequence_number: 0, code, message, param: null };
}

export interface MessageOptions {
  /** Its output index; 0 when absent. */
  readonly at?: number;
  readonly phase?: 'commentary' | 'final_answer' | null;
}

/** A message with one part of text, shown by every event that the provider has for it. */
export function messageEvents(deltas: readonly string[], { at = 0, phase }: MessageOptions = {}): CaseEvents {
  const said = deltas.join('');
  const place = { item: at };
  return [
    itemAdded(message([], { status: 'in_progress', phase }), at),
    partAdded(textPart(''), place),
    ...deltas.map((delta) => textDelta(delta, place)),
    textDone(said, place),
    partDone(textPart(said), place),
    itemDone(message(said, { phase }), at),
  ];
}

/** A message with one part of refusal, shown by every event that the provider has for it. */
export function refusalEvents(deltas: readonly string[]): CaseEvents {
  const said = deltas.join('');
  return [
    itemAdded(message([], { status: 'in_progress' })),
    partAdded(refusalPart('')),
    ...deltas.map((delta) => refusalDelta(delta)),
    refusalDone(said),
    partDone(refusalPart(said)),
    itemDone(message([refusalPart(said)])),
  ];
}

/** A function call, shown by every event that the provider has for it. */
export function callEvents(callId: string, name: string, deltas: readonly string[], index = 0): CaseEvents {
  const call = { type: 'function_call', id: `fc_${index}`, call_id: callId, name } as const;
  const written = deltas.join('');
  return [
    itemAdded({ ...call, arguments: '', status: 'in_progress' }, index),
    ...deltas.map((delta) => argumentsDelta(delta, index)),
    argumentsDone(written, index),
    itemDone({ ...call, arguments: written, status: 'completed' }, index),
  ];
}

function partOf(prefix: string, { item = 0, part = 0 }: Place = {}) {
  return { ...itemAt(prefix, item), content_index: part };
}

/** The corpus numbers the events of every case. */
function itemAt(prefix: string, index: number) {
  return { sequence_number: 0, item_id: `${prefix}_${index}`, output_index: index };
}
