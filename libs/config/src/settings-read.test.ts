import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { EnvReader } from './env-reader.ts';
import { settingsRead } from './settings-read.ts';

const noted = (name: string) => settingsRead().find((setting) => setting.name === name);

describe('the settings that a process has read', () => {
  it('are known with their values and where these came from', () => {
    const folder = mkdtempSync(join(tmpdir(), 'settings-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    writeFileSync(join(folder, 'mode'), 'fast\n');
    const reader = new EnvReader({ SR_COUNT: '3', SR_MODE_FILE: join(folder, 'mode') });
    reader.integer('SR_COUNT', 1);
    reader.integer('SR_OTHER_COUNT', 7);
    reader.oneOf('SR_MODE', ['fast', 'slow'], 'slow');
    reader.boolean('SR_FLAG', false);
    reader.optional('SR_NOTHING');
    expect(noted('SR_COUNT')).toEqual({ name: 'SR_COUNT', value: '3', origin: 'environment' });
    expect(noted('SR_OTHER_COUNT')).toEqual({ name: 'SR_OTHER_COUNT', value: '7', origin: 'default' });
    expect(noted('SR_MODE')).toEqual({ name: 'SR_MODE', value: 'fast', origin: 'file' });
    expect(noted('SR_FLAG')).toMatchObject({ value: 'false', origin: 'default' });
    expect(noted('SR_NOTHING')).toMatchObject({ value: '', origin: 'default' });
    // A reader without a default must not overwrite a known default.
    reader.optional('SR_OTHER_COUNT');
    expect(noted('SR_OTHER_COUNT')?.value).toBe('7');
  });

  it.each([
    ['SR_TOKEN_HASH_KEY', 'canary', '(set)'],
    ['SR_ACCOUNT_KEYS', 'k1:canary', '(set)'],
    ['SR_CLIENT_SECRET', 'canary', '(set)'],
    ['SR_URL', 'postgres://me:canary@db:5432/gateway?password=canary', 'postgres://(set)@db:5432/gateway'],
    ['SR_URL', 'postgres://me:can@ary@db/gateway', 'postgres://(set)@db/gateway'],
    ['SR_URL', 'postgres://me:can/ary@db/gateway', '(set)'],
    ['SR_URL', 'postgres://me:12/canary@db/gateway', '(set)'],
    ['SR_URL', 'redis://a:canary@one:1,redis://a:canary@two:1', '(set)'],
    ['SR_PROXY', 'me:canary@proxy:3128', '(set)'],
    ['SR_URL', 'nats://one:4222,nats://two:4222', 'nats://one:4222,nats://two:4222'],
    ['SR_KEY_FILE', '/run/tls/key.pem', '/run/tls/key.pem'],
  ])('show no secret: %s=%s is shown as %s', (name, text, shown) => {
    new EnvReader({ [name]: text }).optional(name);
    expect(noted(name)?.value).toBe(shown);
  });
});
