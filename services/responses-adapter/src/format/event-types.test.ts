import { createChatAnswer } from '@gateway/chat';
import { describe, expect, it } from 'vitest';
import { sdkEvents, sdkItems, sdkParts } from './__fixtures__/sdk-unions.ts';
import { readItem, readPart } from './answer-writer.ts';
import { EventReader, silentTypes } from './event-reader.ts';

describe('the events of the provider', () => {
  it.each(Object.entries(sdkEvents))('include %s, which is %s', (type, treatment) => {
    expect(unknownEvents(type)).toBe(0);
    expect(silentTypes.has(type)).toBe(treatment === 'skipped');
  });

  it.each(['keepalive', 'ping'])('include %s, which is skipped', (type) => {
    expect(unknownEvents(type)).toBe(0);
    expect(silentTypes.has(type)).toBe(true);
  });

  it.each(['response.cancelled', 'codex.rate_limits'])('include %s, which only some backends send', (type) => {
    expect(unknownEvents(type)).toBe(0);
    expect(silentTypes.has(type)).toBe(false);
  });

  it.each(['response.novelty', 'response.web_search_call', 'response.audio.', 'message', '', 'constructor'])(
    'do not include "%s"',
    (type) => {
      expect(unknownEvents(type)).toBe(1);
    },
  );
});

describe('the items of a response', () => {
  it.each(Object.entries(sdkItems))('can be of the type %s, which is %s', (type, treatment) => {
    expect(readItem({ type })?.type).toBe(treatment === 'read' ? type : undefined);
  });

  it.each([undefined, null, 'message', [], { type: 1 }, {}])('are skipped when they are %j', (item) => {
    expect(readItem(item)).toBeUndefined();
  });
});

describe('the parts of a message', () => {
  it.each(Object.entries(sdkParts))('can be of the type %s, which is %s', (type, treatment) => {
    const part = readPart({ type, text: 'said', refusal: 'said' });
    expect(part?.text).toBe(treatment === 'read' ? 'said' : undefined);
  });
});

function unknownEvents(type: string): number {
  const sink = createChatAnswer({ id: 'r', created: 1, model: 'm', stream: true, includeUsage: false });
  const reader = new EventReader(sink, { wantsJson: false, nowMs: 0, maxAnswerBytes: 1_000, maxEventBytes: 1_000_000 });
  reader.push(Buffer.from(`data: ${JSON.stringify({ type })}\n\n`));
  return reader.unknownEvents;
}
