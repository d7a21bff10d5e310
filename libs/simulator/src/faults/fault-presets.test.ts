import { ManualTime } from '@gateway/time/simulated';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { postMessages, postResponses, readJson } from '../__fixtures__/test-requests.ts';
import { type Simulator, startSimulator } from '../simulator.ts';
import { type PresetName, presetNames } from './fault-presets.ts';

const nowMs = 1_800_000_000_000;
let time: ManualTime;
let simulator: Simulator;

beforeAll(async () => {
  time = new ManualTime(nowMs);
  simulator = await startSimulator();
});

afterEach(() => simulator.reset());
afterAll(async () => {
  await simulator[Symbol.asyncDispose]();
  time[Symbol.dispose]();
});

describe('presets', () => {
  const unreadable = {
    message:
      'The encrypted content gAAA... could not be verified. Reason: Encrypted content organization_id did not match the target organization.',
    type: 'invalid_request_error',
    param: null,
    code: 'invalid_encrypted_content',
  };
  const responses: Readonly<Partial<Record<PresetName, object>>> = {
    rate_limited: [429, { error: { type: 'rate_limit_exceeded', code: 'rate_limit_exceeded' } }, {}],
    rate_limited_retry_after: [429, {}, { 'retry-after': '30' }],
    rate_limited_retry_after_ms: [429, {}, { 'retry-after-ms': '30000' }],
    rate_limited_retry_after_date: [429, {}, { 'retry-after': new Date(nowMs + 30_000).toUTCString() }],
    rate_limited_ratelimit_headers: [429, {}, { 'x-ratelimit-reset-requests': '30s' }],
    usage_limit_reached: [
      429,
      { error: { type: 'usage_limit_reached', resets_at: nowMs / 1000 + 30, resets_in_seconds: 30 } },
      {},
    ],
    codex_window_exhausted: [
      429,
      {},
      { 'x-codex-primary-used-percent': '100.0', 'x-codex-primary-reset-at': `${nowMs / 1000 + 30}` },
    ],
    overloaded: [503, { error: { code: 'server_is_overloaded' } }, {}],
    server_error: [500, { error: { type: 'server_error' } }, {}],
    unauthorized: [401, { error: { code: 'invalid_api_key' } }, {}],
    forbidden: [403, {}, {}],
    context_length_exceeded: [400, { error: { code: 'context_length_exceeded' } }, {}],
    invalid_encrypted_content: [400, { error: unreadable }, {}],
    too_large: [413, {}, {}],
  };

  const messages: typeof responses = {
    rate_limited: [429, { error: { type: 'rate_limit_error' } }, {}],
    rate_limited_ratelimit_headers: [
      429,
      {},
      { 'anthropic-ratelimit-requests-reset': new Date(nowMs + 30_000).toISOString() },
    ],
    unified_rejected: [
      429,
      {},
      {
        'anthropic-ratelimit-unified-status': 'rejected',
        'anthropic-ratelimit-unified-reset': `${nowMs / 1000 + 30}`,
      },
    ],
    unified_transient: [429, {}, { 'anthropic-ratelimit-unified-status': 'allowed', 'retry-after': '30' }],
    overloaded: [529, { error: { type: 'overloaded_error' } }, {}],
    server_error: [500, { error: { type: 'api_error' } }, {}],
    unauthorized: [401, { error: { type: 'authentication_error' } }, {}],
    forbidden: [403, { error: { type: 'permission_error' } }, {}],
    invalid_encrypted_content: [
      400,
      {
        error: {
          type: 'invalid_request_error',
          message: 'messages.1.content.0: Invalid `signature` in `thinking` block',
        },
      },
      {},
    ],
    too_large: [413, { error: { type: 'request_too_large' } }, {}],
  };

  it.each(Object.entries(responses))('%s on Responses', async (preset, expected) => {
    expect(await seen(preset, postResponses)).toMatchObject(expected);
  });

  it.each(Object.entries(messages))('%s on Messages', async (preset, expected) => {
    expect(await seen(preset, postMessages)).toMatchObject(expected);
  });

  it('forbidden_html is a page, not JSON', async () => {
    simulator.faults.add({ fault: { preset: 'forbidden_html' } });
    const answer = await postResponses(simulator);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([403, 'text/html']);
    expect(await answer.text()).toContain('<html>');
  });

  it('are recorded by name', async () => {
    simulator.faults.add({ fault: { preset: 'overloaded' } });
    await postMessages(simulator);
    expect(simulator.requests().at(-1)).toMatchObject({ outcome: 'faulted', faults: ['overloaded'] });
  });

  async function seen(name: string, send: typeof postResponses) {
    const preset = presetNames.find((candidate) => candidate === name) ?? 'rate_limited';
    simulator.faults.add({ fault: { preset, resetAfterSeconds: 30 } });
    const answer = await send(simulator);
    return [answer.status, await readJson(answer), Object.fromEntries(answer.headers)];
  }
});
