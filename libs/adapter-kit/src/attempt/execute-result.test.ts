import type { ExecuteResult } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { ManualTime } from '@gateway/time/simulated';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type AdapterUnderTest, send, startAdapter } from '../__fixtures__/adapter-under-test.ts';
import { event, fakeFormat } from '../__fixtures__/fake-format.ts';
import type { FormatDefinition } from '../format-definition.ts';

/** Reports one quota in a header of its own. */
const formatWithQuotas: FormatDefinition = {
  ...fakeFormat,
  readWindows: ({ headers, model, nowMs: now }) => {
    const { 'x-used': used } = headers;
    const rest = { name: 'day', models: model, resetsAtMs: now + 9_000, lengthSeconds: 86_400 };
    return used === undefined ? [] : [{ ...rest, usedFraction: Number(used) }];
  },
};

const nowMs = 1_700_000_000_000;
let time: ManualTime;
let adapter: AdapterUnderTest;
beforeEach(async () => {
  time = new ManualTime(nowMs);
  adapter = await startAdapter({}, formatWithQuotas);
});
afterEach(async () => {
  await adapter[Symbol.asyncDispose]();
  time[Symbol.dispose]();
});

/** The caller's result for such an answer of the provider. */
async function resultOf(status: number, headers: Readonly<Record<string, string>>, body: string) {
  adapter.provider.answer = (response) => response.writeHead(status, headers).end(body);
  let last: ExecuteResult | undefined;
  for await (const frame of send(adapter)) last = frame.result ?? last;
  return last?.attempt;
}

const stream = { 'content-type': 'text/event-stream' };

describe('the quotas that an answer reports', () => {
  it.each([
    ['a success', 200, stream, event.text('Hi') + event.done, AttemptResult.SUCCEEDED],
    ['a failure before the first content', 200, stream, event.fail, AttemptResult.OVERLOADED],
    ['a stream that breaks after it', 200, stream, event.text('Hi') + event.throw, AttemptResult.SERVER_ERROR],
    ['a refusal', 429, {}, '{}', AttemptResult.RATE_LIMITED],
  ])('go along with the result of %s', async (_, status, headers, body, result) => {
    const attempt = await resultOf(status, { ...headers, 'x-used': '0.5' }, body);
    expect(attempt?.result).toBe(result);
    expect(attempt?.windows).toMatchObject([{ name: 'day', usedFraction: 0.5, lengthSeconds: 86_400 }]);
    const [window] = attempt?.windows ?? [];
    expect(window?.resetsAtMs).toBe(nowMs + 9_000);
  });

  it.each([
    ['a success', event.text('Hi') + event.quota(0.75) + event.done],
    ['a failure', event.quota(0.75) + event.fail],
    ['a stream that breaks', event.text('Hi') + event.quota(0.75) + event.throw],
  ])('are those that its events report, which are later than its head: %s', async (_, body) => {
    const attempt = await resultOf(200, { ...stream, 'x-used': '0.5' }, body);
    expect(attempt?.windows).toMatchObject([{ name: 'day', models: 'model-x', usedFraction: 0.75 }]);
  });

  it('are none of what is not the provider’s answer', async () => {
    const page = await resultOf(200, { 'content-type': 'text/html', 'x-used': '0.5' }, '<html>');
    expect(page).toMatchObject({ result: AttemptResult.NETWORK_ERROR, windows: [] });
  });

  it('may be none', async () => {
    expect((await resultOf(200, stream, event.done))?.windows).toEqual([]);
  });
});
