import { EnvReader } from '@gateway/config';
import { describe, expect, it } from 'vitest';
import { natsServers } from './nats-servers.ts';

describe('NATS_URL', () => {
  it('names one server or several, credentials given once or with each', () => {
    for (const text of ['nats://a', 'tls://a,tls://b:4223', 'nats://u:p@a,nats://b', 'nats://u:p@a,nats://u:p@b']) {
      const reader = new EnvReader({ NATS_URL: text });
      expect(natsServers.required(reader, '')).toEqual({ urls: text.split(',') });
      expect(natsServers.optional(reader)).toEqual({ urls: text.split(',') });
      expect(() => reader.done()).not.toThrow();
    }
    expect(natsServers.optional(new EnvReader({}))).toBeUndefined();
  });

  it.each([
    ['', /^NATS_URL is not set/],
    ['nats://a,', /^NATS_URL has no URL at position 2/],
    ['nats://u:secret@a,b:4222', /^NATS_URL has no URL at position 2/],
    ['nats://u:secret@a,tls://b', /^NATS_URL mixes/],
    ['nats://u:secret@a,nats://u:other-secret@b', /^NATS_URL has different credentials/],
  ])('says what is wrong with "%s", without credentials', (text, problem) => {
    const reader = new EnvReader({ NATS_URL: text });
    natsServers.required(reader, 'NATS carries usage to the ledger.');
    expect(() => reader.done()).toThrow(problem);
    expect(() => reader.done()).not.toThrow(/secret/);
  });
});

describe('the files that go with NATS_URL', () => {
  const file = import.meta.filename;

  it('are named with it', () => {
    const reader = new EnvReader({ NATS_URL: 'tls://a', NATS_CREDS_FILE: file, NATS_CA_FILE: file });
    expect(natsServers.optional(reader)).toEqual({ urls: ['tls://a'], credsFile: file, caFile: file });
    expect(() => reader.done()).not.toThrow();
  });

  it.each([
    [{ NATS_CREDS_FILE: '/absent' }, /NATS_CREDS_FILE cannot be read: ENOENT/],
    [{ NATS_NKEY_FILE: '/absent' }, /NATS_NKEY_FILE cannot be read: ENOENT/],
    [{ NATS_CREDS_FILE: file, NATS_NKEY_FILE: file }, /NATS_CREDS_FILE and NATS_NKEY_FILE both have credentials/],
    [{ NATS_CREDS_FILE: file, NATS_URL: 'nats://u:p@a' }, /NATS_URL and NATS_CREDS_FILE both have credentials/],
    [{ NATS_CA_FILE: file, NATS_URL: 'nats://a' }, /NATS_CA_FILE is set, but NATS_URL does not use TLS/],
  ])('are checked: %o', (env, problem) => {
    const reader = new EnvReader({ NATS_URL: 'tls://a', ...env });
    natsServers.optional(reader);
    expect(() => reader.done()).toThrow(problem);
  });
});
