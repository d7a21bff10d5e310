import { describe, expect, it } from 'vitest';
import { sdkEvents, sdkItems, sdkParts } from './__fixtures__/sdk-unions.ts';
import { isSilentEvent } from './event-types.ts';
import { parseProviderEvent } from './parse-event.ts';

describe('the events of the provider', () => {
  it.each(Object.entries(sdkEvents))('include %s, which is %s', (type, treatment) => {
    const { kind } = parseProviderEvent({ type }, 'message');
    expect(kind === 'known' || kind === 'malformed').toBe(treatment === 'read');
    expect(kind === 'silent').toBe(treatment === 'skipped');
    expect(isSilentEvent(type)).toBe(treatment === 'skipped');
  });

  it.each(['keepalive', 'ping'])('include %s, which is skipped', (type) => {
    expect(parseProviderEvent({ type }, 'message').kind).toBe('silent');
  });

  it.each(['response.cancelled', 'codex.rate_limits'])('include %s, which only some backends send', (type) => {
    expect(parseProviderEvent({ type }, 'message').kind).toBe('known');
  });

  it.each(['response.novelty', 'response.web_search_call', 'response.audio.', 'message', '', 'constructor'])(
    'do not include "%s"',
    (type) => {
      expect(parseProviderEvent({ type }, 'message').kind).toBe('unknown');
    },
  );
});

describe('the items of a response', () => {
  it.each(Object.entries(sdkItems))('can be of the type %s, which is %s', (type, treatment) => {
    const parsed = parseProviderEvent({ type: 'response.output_item.done', item: { type } }, 'message');
    const other = { kind: 'known', event: { item: { type: 'other' } } };
    if (treatment === 'read') expect(parsed).toMatchObject({ kind: 'known', event: { item: { type } } });
    else expect(parsed).toMatchObject(other);
  });

  it.each([undefined, null, 'message', [], { type: 1 }, {}])('are skipped when they are %j', (item) => {
    const parsed = parseProviderEvent({ type: 'response.output_item.added', item }, 'message');
    expect(parsed).toMatchObject({ kind: 'known', event: { item: { type: 'other' } } });
  });
});

describe('the parts of a message', () => {
  it.each(Object.entries(sdkParts))('can be of the type %s, which is %s', (type, treatment) => {
    const part = { type, text: 'said', refusal: 'said' };
    const parsed = parseProviderEvent({ type: 'response.content_part.done', part }, 'message');
    const said = treatment === 'read' ? 'said' : '';
    expect(parsed).toMatchObject({ kind: 'known', event: { kind: 'text-done', part: { text: said } } });
  });
});
