import { asCount, asObject, asString, type JsonObject } from '@gateway/json';
import { readReportedCounts } from './convert-usage.ts';
import { type ContentBlock, type ProviderEvent, silentTypes } from './event-types.ts';

export type ParsedEvent =
  | { readonly kind: 'known'; readonly event: ProviderEvent }
  /** Known, and nothing for a chat answer. */
  | { readonly kind: 'silent' }
  | { readonly kind: 'unknown' }
  /** Known, but without what it is there for: the answer can't be told any more. */
  | { readonly kind: 'malformed' };

/**
 * Reads the JSON value of an event. Its `type` member counts; the name on the `event:` line only where that is missing,
 * or where it says error: the official client library takes any such event as one.
 */
export function parseProviderEvent(value: unknown, eventName: string): ParsedEvent {
  const json = asObject(value);
  if (json === undefined) return malformed;
  const type = eventName === 'error' ? eventName : (asString(json.type) ?? eventName);
  switch (type) {
    case 'message_start':
      return known({ kind: 'message-start', usage: readReportedCounts(asObject(json.message)?.usage) });
    case 'content_block_start':
      return parseBlockStart(json);
    case 'content_block_delta':
      return parseBlockDelta(json);
    case 'content_block_stop':
      return withIndex(json, (index) => ({ kind: 'content-block-stop', index }));
    case 'message_delta':
      return known({
        kind: 'message-delta',
        stopReason: asString(asObject(json.delta)?.stop_reason),
        usage: readReportedCounts(json.usage),
      });
    case 'message_stop':
      return known({ kind: 'message-stop' });
    case 'error':
      return known({ kind: 'error', error: json });
    default:
      return silentTypes.events.has(type) ? silent : unknown;
  }
}

const silent: ParsedEvent = { kind: 'silent' };
const unknown: ParsedEvent = { kind: 'unknown' };
const malformed: ParsedEvent = { kind: 'malformed' };

function known(event: ProviderEvent): ParsedEvent {
  return { kind: 'known', event };
}

function withIndex(json: JsonObject, make: (index: number) => ProviderEvent): ParsedEvent {
  const index = asCount(json.index);
  return index === undefined ? malformed : known(make(index));
}

function parseBlockStart(json: JsonObject): ParsedEvent {
  const block = parseBlock(asObject(json.content_block) ?? {});
  return block === undefined ? malformed : withIndex(json, (index) => ({ kind: 'content-block-start', index, block }));
}

function parseBlock(block: JsonObject): ContentBlock | undefined {
  const type = asString(block.type);
  if (type === undefined) return undefined;
  if (type === 'text') return { type, text: asString(block.text) ?? '' };
  if (type !== 'tool_use') return { type: 'other', isKnown: silentTypes.blocks.has(type) };
  const [id, name] = [asString(block.id), asString(block.name)];
  return id === undefined || name === undefined ? undefined : { type, id, name, input: asObject(block.input) ?? {} };
}

function parseBlockDelta(json: JsonObject): ParsedEvent {
  const delta = asObject(json.delta) ?? {};
  const type = asString(delta.type) ?? '';
  switch (type) {
    case 'text_delta':
      return withText(delta.text, (text) => withIndex(json, (index) => ({ kind: 'text-delta', index, text })));
    case 'input_json_delta':
      return withText(delta.partial_json, (text) =>
        withIndex(json, (index) => ({ kind: 'input-json-delta', index, json: text })),
      );
    case 'thinking_delta':
      return known({ kind: 'thinking-delta', thinking: asString(delta.thinking) ?? '' });
    default:
      return silentTypes.deltas.has(type) ? silent : unknown;
  }
}

function withText(value: unknown, parse: (text: string) => ParsedEvent): ParsedEvent {
  return typeof value === 'string' ? parse(value) : malformed;
}
