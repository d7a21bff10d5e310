import { asArray, asNumber, asObject, asString, type JsonObject, parseJson } from '@gateway/json';
import { convertUsage } from './convert-usage.ts';
import {
  isSilentEvent,
  type MessagePart,
  type OutputItem,
  type PartType,
  type ProviderEvent,
  type ResponseEnded,
} from './event-types.ts';

export type ParsedEvent =
  | { readonly kind: 'known'; readonly event: ProviderEvent }
  /** Known, and nothing for a chat answer. */
  | { readonly kind: 'silent' }
  | { readonly kind: 'unknown' }
  /** Known, but without what it is there for: the answer can't be told any more. */
  | { readonly kind: 'malformed' };

/** Reads the data of an event. Some backends pad it, and end their streams with the marker of the chat format. */
export function parseEventData(data: string, eventName: string): ParsedEvent {
  const text = data.trim();
  return text === '' || text === '[DONE]' ? silent : parseProviderEvent(parseJson(text), eventName);
}

/**
 * Reads the JSON value of an event. Its `type` member counts; the name on the `event:` line only where that is missing.
 * Members that have a sensible meaning when absent may be absent.
 */
export function parseProviderEvent(value: unknown, eventName: string): ParsedEvent {
  const json = asObject(value);
  if (json === undefined) return malformed;
  const type = asString(json.type) ?? (asObject(json.error) === undefined ? eventName : 'error');
  const parse = parsers.get(type);
  if (parse === undefined) return isSilentEvent(type) ? silent : unknown;
  const event = parse(json);
  return event === undefined ? malformed : { kind: 'known', event };
}

const silent: ParsedEvent = { kind: 'silent' };
const unknown: ParsedEvent = { kind: 'unknown' };
const malformed: ParsedEvent = { kind: 'malformed' };

type Parse = (json: JsonObject) => ProviderEvent | undefined;

const parsers: ReadonlyMap<string, Parse> = new Map<string, Parse>([
  [
    'response.output_item.added',
    (json) => ({ kind: 'item-added', outputIndex: outputIndexOf(json), item: parseItem(json.item) }),
  ],
  [
    'response.output_item.done',
    (json) => ({ kind: 'item-done', outputIndex: outputIndexOf(json), item: parseItem(json.item) }),
  ],
  ['response.content_part.done', (json) => parseTextDone(json, parsePart(json.part))],
  ['response.output_text.delta', (json) => parseTextDelta(json, 'text')],
  ['response.output_text.done', (json) => parseTextDone(json, toPart('text', json.text))],
  ['response.refusal.delta', (json) => parseTextDelta(json, 'refusal')],
  ['response.refusal.done', (json) => parseTextDone(json, toPart('refusal', json.refusal))],
  ['response.function_call_arguments.delta', parseArgumentsDelta],
  ['response.function_call_arguments.done', parseArgumentsDone],
  ['response.reasoning_summary_text.delta', parseReasoningDelta],
  ['response.reasoning_text.delta', parseReasoningDelta],
  ['response.completed', (json) => parseEnded(json, 'completed')],
  ['response.incomplete', (json) => parseEnded(json, 'incomplete')],
  ['response.failed', (json) => parseEnded(json, 'failed')],
  ['response.cancelled', (json) => parseEnded(json, 'cancelled')],
  ['codex.rate_limits', (json) => ({ kind: 'rate-limits', limits: json })],
  ['error', (json) => ({ kind: 'error', error: json })],
]);

function parseTextDelta(json: JsonObject, type: PartType): ProviderEvent | undefined {
  const text = asString(json.delta);
  if (text === undefined) return undefined;
  const contentIndex = asIndex(json.content_index) ?? 0;
  return { kind: 'text-delta', outputIndex: outputIndexOf(json), contentIndex, part: { type, text } };
}

/** A part of a kind that chat has no place for is as good as empty. */
function parseTextDone(json: JsonObject, part: MessagePart | undefined): ProviderEvent {
  return {
    kind: 'text-done',
    outputIndex: outputIndexOf(json),
    contentIndex: asIndex(json.content_index) ?? 0,
    part: part ?? { type: 'text', text: '' },
  };
}

function parseArgumentsDelta(json: JsonObject): ProviderEvent | undefined {
  const delta = asString(json.delta);
  return delta === undefined ? undefined : { kind: 'arguments-delta', outputIndex: outputIndexOf(json), delta };
}

function parseArgumentsDone(json: JsonObject): ProviderEvent {
  return { kind: 'arguments-done', outputIndex: outputIndexOf(json), arguments: asString(json.arguments) ?? '' };
}

function parseReasoningDelta(json: JsonObject): ProviderEvent {
  return { kind: 'reasoning-delta', delta: asString(json.delta) ?? '' };
}

const endStatuses: readonly ResponseEnded['status'][] = ['completed', 'incomplete', 'failed', 'cancelled'];

/** Some backends end every response with `response.completed`: there, the response's own status counts. */
function parseEnded(json: JsonObject, typeStatus: ResponseEnded['status']): ProviderEvent {
  const response = asObject(json.response) ?? {};
  const ownStatus = endStatuses.find((status) => status === response.status);
  return {
    kind: 'response-ended',
    status: typeStatus === 'completed' ? (ownStatus ?? typeStatus) : typeStatus,
    incompleteReason: asString(asObject(response.incomplete_details)?.reason),
    output: asArray(response.output).map(parseItem),
    usage: convertUsage(response.usage),
    error: response.error,
  };
}

function parseItem(value: unknown): OutputItem {
  const item = asObject(value);
  switch (item?.type) {
    case 'message':
      return { type: 'message', phase: asString(item.phase), parts: asArray(item.content).map(parsePart) };
    case 'function_call':
      return {
        type: 'function_call',
        callId: asString(item.call_id) ?? asString(item.id),
        name: asString(item.name),
        arguments: asString(item.arguments) ?? '',
      };
    default:
      return { type: 'other' };
  }
}

function parsePart(value: unknown): MessagePart | undefined {
  const part = asObject(value);
  if (part?.type === 'output_text') return toPart('text', part.text);
  return part?.type === 'refusal' ? toPart('refusal', part.refusal) : undefined;
}

function toPart(type: PartType, text: unknown): MessagePart {
  return { type, text: asString(text) ?? '' };
}

function outputIndexOf(json: JsonObject): number | undefined {
  return asIndex(json.output_index);
}

function asIndex(value: unknown): number | undefined {
  const index = asNumber(value);
  return index !== undefined && Number.isInteger(index) && index >= 0 ? index : undefined;
}
