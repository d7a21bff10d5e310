import { EnvReader } from '@gateway/config';
import { describe, expect, it } from 'vitest';
import { natsUrls } from './nats-urls.ts';

describe('NATS_URL', () => {
  it('names one server or several, credentials given once or with each', () => {
    for (const text of ['nats://a', 'tls://a,tls://b:4223', 'nats://u:p@a,nats://b', 'nats://u:p@a,nats://u:p@b']) {
      const reader = new EnvReader({ NATS_URL: text });
      expect(natsUrls.required(reader, '')).toEqual(text.split(','));
      expect(natsUrls.optional(reader)).toEqual(text.split(','));
      expect(() => reader.done()).not.toThrow();
    }
  });

  it.each([
    ['', /^NATS_URL is not set/],
    ['nats://a,', /^NATS_URL has no URL at position 2/],
    ['nats://u:secret@a,b:4222', /^NATS_URL has no URL at position 2/],
    ['nats://u:secret@a,tls://b', /^NATS_URL mixes/],
    ['nats://u:secret@a,nats://u:other-secret@b', /^NATS_URL has different credentials/],
  ])('says what is wrong with "%s", without credentials', (text, problem) => {
    const reader = new EnvReader({ NATS_URL: text });
    natsUrls.required(reader, 'Usage is published there.');
    expect(() => reader.done()).toThrow(problem);
    expect(() => reader.done()).not.toThrow(/secret/);
  });
});
