import { asObject, asString, type JsonObject, parseJson } from '@gateway/json';
import type { StreamPiece } from '@gateway/sse';
import { readReportedCounts } from './convert-usage.ts';
import type { ReportedCounts } from './event-types.ts';
import { producedByBlock, producedByDelta } from './produced-characters.ts';
import { rememberingTexts } from './remembering-texts.ts';

/** What an event says for whoever relays it. */
export type RelayedEvent =
  | { readonly kind: 'start'; readonly id: string | undefined; readonly usage: ReportedCounts }
  /** A part of a content block; `characters` is about what the model wrote of it, `seal` closes its thinking. */
  | { readonly kind: 'content'; readonly characters: number; readonly seal?: string | undefined }
  | { readonly kind: 'usage'; readonly usage: ReportedCounts }
  | { readonly kind: 'stop' }
  /** Not for the client: the provider's text is in it. */
  | { readonly kind: 'error'; readonly error: unknown }
  /** Pings, comments, and what is not known. */
  | { readonly kind: 'other' }
  /** It should say something, and its data is no JSON object. */
  | { readonly kind: 'malformed' };

/** Reads one event of a stream, `[start, end)` of a piece. */
export function readRelayedEvent({ bytes }: StreamPiece, start: number, end: number): RelayedEvent {
  return readText(bytes.toString('utf8', start, end));
}

const readText = rememberingTexts(parseEvent);

/** The name and the data's `type` should be the same. Clients act on either, so that an error is one by either. */
function parseEvent(event: string): RelayedEvent {
  const { name, data } = readFields(event);
  const json = asObject(parseJson(data));
  if (name === 'error' || isError(json)) return { kind: 'error', error: json };
  if (json !== undefined) return readData(json, asString(json.type) ?? name);
  return data === '' || data === endMarker || isUnknown(name) ? other : malformed;
}

/** What such an event holds is not for us to judge. */
function isUnknown(name: string): boolean {
  return name !== '' && !/^(?:message|content_block)_/.test(name);
}

function isError(json: JsonObject | undefined): boolean {
  return json?.type === 'error' || (json?.type === undefined && json?.error !== undefined);
}

function readData(json: JsonObject, type: string): RelayedEvent {
  switch (type) {
    case 'message_start': {
      const message = asObject(json.message);
      return { kind: 'start', id: asString(message?.id), usage: readReportedCounts(message?.usage) };
    }
    case 'content_block_start':
      return { kind: 'content', characters: producedByBlock(json.content_block) };
    case 'content_block_delta': {
      const delta = asObject(json.delta) ?? {};
      return { kind: 'content', characters: producedByDelta(delta), seal: asString(delta.signature) };
    }
    case 'content_block_stop':
      return { kind: 'content', characters: 0 };
    case 'message_delta':
      return { kind: 'usage', usage: readReportedCounts(json.usage) };
    case 'message_stop':
      return { kind: 'stop' };
    default:
      return other;
  }
}

const other: RelayedEvent = { kind: 'other' };
const malformed: RelayedEvent = { kind: 'malformed' };
/** Of no meaning here; some providers that speak this format send it out of habit. */
const endMarker = '[DONE]';

/** @see https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation */
function readFields(event: string): { readonly name: string; readonly data: string } {
  let name = '';
  const data: string[] = [];
  for (const line of event.replace(byteOrderMark, '').split(lineEnd)) {
    const colon = line.indexOf(':');
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'event') name = value.trim();
    else if (field === 'data') data.push(value);
  }
  return { name, data: data.join('\n').trim() };
}

const byteOrderMark = /^\ufeff/;
const lineEnd = /\r\n|\r|\n/;
