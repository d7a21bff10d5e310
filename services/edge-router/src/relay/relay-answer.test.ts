import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { create } from '@bufbuild/protobuf';
import { AttemptResult, LeaseSchema } from '@gateway/proto/pool/v1/account_pb.js';
import { AcquireResponseSchema } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { RequestEnding } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { RpcError } from '@gateway/rpc';
import { ManualTime } from '@gateway/time/simulated';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { admittedCall } from '../__fixtures__/test-call.ts';
import { ScriptedCall, type ScriptedFrame } from '../attempts/__fixtures__/scripted-call.ts';
import { AnswerFrames } from '../attempts/answer-frames.ts';
import { EdgeRequest } from '../body/read-body.ts';
import type { ErrorDialect } from '../errors/render-error.ts';
import { EdgeResponse } from '../http/respond.ts';
import { relayAnswer } from './relay-answer.ts';

const text = (value: string) => Buffer.from(value);
const streamHead = { status: 200, headers: { 'content-type': 'text/event-stream; charset=utf-8' } };
const succeeded = { attempt: { result: AttemptResult.SUCCEEDED } };
const broken = {
  attempt: { result: AttemptResult.SERVER_ERROR },
  error: { code: 'providers_unavailable', message: 'The answer ended before it was complete.' },
};

let time: ManualTime;
beforeEach(() => {
  time = new ManualTime(1_700_000_123_456);
});
afterEach(() => time[Symbol.dispose]());

describe('relayAnswer', () => {
  let server: Server<typeof EdgeRequest, typeof EdgeResponse>;
  let url: string;
  let frames: readonly ScriptedFrame[];
  let together: boolean;
  let dialect: ErrorDialect;
  /** Short only where a stream is silent: on a busy machine any answer would have comments. */
  let heartbeatMs: number;
  let call: ScriptedCall;
  let events: string[];

  beforeAll(async () => {
    server = createServer(
      { IncomingMessage: EdgeRequest, ServerResponse: EdgeResponse },
      (_request, response) => void relay(response),
    );
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => server.closeAllConnections());
  beforeEach(() => {
    events = [];
    together = false;
    dialect = 'chat';
    heartbeatMs = 60_000;
  });

  async function relay(response: EdgeResponse): Promise<void> {
    const relayed = admittedCall({ id: 'r1', response, route: { errorDialect: dialect } });
    relayed.onBodyRead('m', true, 0);
    const usage = relayed.usage ?? expect.fail('usage arises');
    const { signal } = relayed;
    call = new ScriptedCall(frames, { together });
    const rest = new AnswerFrames(call.frames, { call: call.controller, client: signal, isRecorded: true });
    const first = await rest.next();
    const lease = create(LeaseSchema, { provider: 'provider_a', model: 'gpt\n-5' });
    relayed.onAcquired(create(AcquireResponseSchema, { result: { case: 'lease', value: lease } }));
    relayed.onAnswering();
    const end = relayed.end.bind(relayed);
    vi.spyOn(relayed, 'end').mockImplementation(async (how) => {
      if (how.usage !== undefined) events.push(`used ${how.usage.outputTokens} in the end`);
      await new Promise((resolve) => setTimeout(resolve, 20));
      await end(how);
      const { ending, status } = relayed.record;
      events.push(`settled ${RequestEnding[ending]} ${response.writableEnded ? 'late' : 'in time'}`);
      events.push(`as status ${status}`);
    });
    vi.spyOn(usage, 'onUsage').mockImplementation(({ outputTokens }) => void events.push(`used ${outputTokens}`));
    await relayAnswer(
      { call: relayed, answer: { kind: 'answering', lease, first, frames: rest }, affinityKey: '' },
      {
        leases: {
          report: async ({ attempt }) => {
            events.push(`reported ${AttemptResult[attempt?.report?.result ?? AttemptResult.UNSPECIFIED]}`);
          },
        },
        config: { heartbeatMs },
        events: {
          streamBegan: ({ firstTokenMs = 0 }) => void events.push(firstTokenMs > 0 ? 'stream began' : 'at no time'),
          streamEnded: () => void events.push('stream ended'),
        },
      },
    );
  }

  /** How many frames were taken, once the number has stopped changing. */
  async function takenWhenStill(): Promise<number> {
    for (let before = -1; call.taken !== before; ) {
      before = call.taken;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    return call.taken;
  }

  it('carries head, bytes and usage, and settles before the last byte', async () => {
    frames = [
      { head: streamHead, body: text('data: 1\n\n'), usage: { outputTokens: 1 } },
      { body: text('data: 2\n\n') },
      { body: text('data: [DONE]\n\n'), usage: { outputTokens: 2 }, result: succeeded },
    ];
    const response = await fetch(url);
    expect(response.headers.get('x-gateway-provider')).toBe('provider_a');
    expect(response.headers.get('x-gateway-model')).toBe('gpt-5');
    expect(await response.text()).toBe('data: 1\n\ndata: 2\n\ndata: [DONE]\n\n');
    expect(events).toContain('settled COMPLETED in time');
    expect(events.filter((event) => event.startsWith('used'))).toEqual(['used 1', 'used 2 in the end']);
    await expect
      .poll(() => events.filter((event) => event.startsWith('stream')))
      .toEqual(['stream began', 'stream ended']);
    await expect.poll(() => call.hasEnded).toBe(true);
    expect(events).toContain('reported SUCCEEDED');
  });

  it('sends an answer that is there in one piece with its length, settled before', async () => {
    const head = { status: 201, headers: { 'content-type': 'application/json' } };
    frames = [{ head, body: text('{"a":1}'), usage: { outputTokens: 3 }, result: succeeded }];
    const response = await fetch(url);
    expect(response.status).toBe(201);
    expect(response.headers.get('content-length')).toBe('7');
    expect(response.headers.get('x-gateway-provider')).toBe('provider_a');
    expect(await response.text()).toBe('{"a":1}');
    expect(events).toEqual(['used 3 in the end', 'reported SUCCEEDED', 'settled COMPLETED in time', 'as status 201']);
  });

  it('carries frames that come all at once as those that come one by one', async () => {
    together = true;
    frames = [
      { head: streamHead, body: text('data: 1\n\n') },
      { body: text('data: 2\n\n') },
      { body: text('data: 3\n\n'), result: succeeded },
      'end',
    ];
    expect(await (await fetch(url)).text()).toBe('data: 1\n\ndata: 2\n\ndata: 3\n\n');
    expect(events).toContain('settled COMPLETED in time');
  });

  it('slows the adapter down while the client reads slower than frames come, and loses nothing', async () => {
    const large = { body: Buffer.alloc(1_000_000, 'x') };
    frames = [{ head: streamHead }, ...Array.from({ length: 20 }, () => large), { result: succeeded }];
    const response = await fetch(url);
    expect(await takenWhenStill()).toBeLessThan(frames.length - 1);
    expect((await response.arrayBuffer()).byteLength).toBe(20_000_000);
  });

  it('settles an answer as aborted whose client leaves while it is slowed down', async () => {
    const large = { body: Buffer.alloc(1_000_000, 'x') };
    frames = [{ head: streamHead, usage: { outputTokens: 1 } }, ...Array.from({ length: 20 }, () => large)];
    const controller = new AbortController();
    await fetch(url, { signal: controller.signal });
    expect(await takenWhenStill()).toBeLessThan(frames.length);
    controller.abort();
    await expect.poll(() => events).toContainEqual(expect.stringMatching(/^settled ABORTED/));
    expect(call.isAborted).toBe(true);
  });

  it('ends a stream that breaks off with one error event and nothing after it', async () => {
    frames = [
      { head: streamHead, body: text('data: 1\n\n') },
      { body: text('data: 2\n\n'), result: broken },
    ];
    expect(await (await fetch(url)).text()).toBe(
      'data: 1\n\ndata: 2\n\ndata: {"error":{"code":"providers_unavailable","message":"The answer ended before it was complete."}}\n\n',
    );
    expect(events).toContain('settled FAILED in time');
    expect(events).toContain('reported SERVER_ERROR');
  });

  it('ends a Responses stream with the next event of the same response', async () => {
    dialect = 'responses';
    const head = { ...streamHead, answerId: 'resp_7', model: 'gpt-5.5', createdAt: 1_700_000_000 };
    frames = [
      { head, body: text('data: 1\n\n'), nextSequenceNumber: 3 },
      { body: text('data: 2\n\n'), nextSequenceNumber: 42 },
      { usage: { outputTokens: 1 } },
      { result: broken },
    ];
    expect(failedResponse(await (await fetch(url)).text())).toMatchObject({
      sequence_number: 42,
      response: { id: 'resp_7', created_at: 1_700_000_000, model: 'gpt-5.5' },
    });
  });

  it('ends a Responses stream with the first event of a response of ours when the client has seen none', async () => {
    dialect = 'responses';
    frames = [{ head: streamHead, body: text(': comment\n\n') }, { result: broken }];
    expect(failedResponse(await (await fetch(url)).text())).toMatchObject({
      sequence_number: 0,
      response: { id: 'resp_r1', created_at: Math.floor(time.nowMs / 1_000), model: 'gpt\n-5' },
    });
  });

  it('adds nothing to an answer that ends with its provider’s word of the failure, and settles what it cost', async () => {
    const result = { ...broken, answerComplete: true };
    for (const begun of [[{ head: streamHead, body: text('data: 1\n\n') }], []]) {
      events = [];
      const head = begun.length > 0 ? {} : { head: streamHead };
      frames = [...begun, { ...head, body: text('data: failed\n\n'), usage: { outputTokens: 5 }, result }];
      const whole = begun.length > 0 ? 'data: 1\n\ndata: failed\n\n' : 'data: failed\n\n';
      expect(await (await fetch(url)).text()).toBe(whole);
      expect(events).toContain('used 5 in the end');
      await expect.poll(() => events).toContain('stream ended');
      expect(events.filter((event) => event === 'stream began')).toHaveLength(1);
      expect(events).toContain('settled FAILED in time');
      expect(events).toContain('reported SERVER_ERROR');
    }
  });

  it('ends it in the same way when the adapter goes away, which is no fault of the account', async () => {
    frames = [{ head: streamHead, body: text('data: 1\n\n') }, new RpcError('unavailable', 'connection lost')];
    expect(await (await fetch(url)).text()).toMatch(
      /^data: 1\n\ndata: \{"error":\{"code":"providers_unavailable".*\}\}\n\n$/,
    );
    expect(events).toContain('reported CANCELLED');
  });

  it('cuts the connection when the adapter goes away in the middle of an event, which nothing may follow', async () => {
    frames = [
      { head: streamHead, body: text('data: 1\n\ndata: {"half') },
      new RpcError('unavailable', 'connection lost'),
    ];
    await expect(fetch(url).then((response) => response.text())).rejects.toThrow();
    expect(events).toContain('settled FAILED in time');
  });

  it('sends no comment in the middle of an event', async () => {
    heartbeatMs = 40;
    frames = [{ head: streamHead, body: text('data: {"half') }, 'hang'];
    const controller = new AbortController();
    const reader = (await fetch(url, { signal: controller.signal })).body?.getReader();
    expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe('data: {"half');
    const next = reader?.read().catch(() => 'aborted');
    await new Promise((resolve) => setTimeout(resolve, 200));
    controller.abort();
    expect(await next).toBe('aborted');
  });

  it.each([
    ['the adapter goes away', new RpcError('unavailable', 'lost')],
    ['the provider fails', { result: broken }],
  ])('cuts the connection when %s in a JSON answer, since half of one cannot be mended', async (_why, end) => {
    const head = { status: 200, headers: { 'content-type': 'application/json' } };
    frames = [{ head, body: text('{"a":') }, end];
    await expect(fetch(url).then((response) => response.text())).rejects.toThrow();
    expect(events).toEqual(expect.arrayContaining(['settled FAILED in time', 'as status 499']));
  });

  it('cancels and settles an answer whose client leaves', async () => {
    frames = [{ head: streamHead, body: text('data: 1\n\n'), usage: { outputTokens: 7 } }, 'hang'];
    const controller = new AbortController();
    const response = await fetch(url, { signal: controller.signal });
    await response.body?.getReader().read();
    controller.abort();
    await expect.poll(() => call.hasEnded).toBe(true);
    expect(events).toEqual(expect.arrayContaining(['used 7', 'reported CANCELLED']));
    expect(events.some((event) => event.startsWith('settled ABORTED'))).toBe(true);
  });

  it('keeps a silent stream alive with comments', async () => {
    heartbeatMs = 40;
    frames = [{ head: streamHead, body: text('data: 1\n\n') }, 'hang'];
    const controller = new AbortController();
    const reader = (await fetch(url, { signal: controller.signal })).body?.getReader();
    let seen = '';
    while (!seen.includes(': keep-alive\n\n')) seen += Buffer.from((await reader?.read())?.value ?? []).toString();
    expect(seen).toBe('data: 1\n\n: keep-alive\n\n');
    controller.abort();
  });
});

/** The data of the event by which the gateway ends a Responses stream. */
function failedResponse(stream: string): unknown {
  return JSON.parse(stream.split('event: response.failed\ndata: ')[1] ?? '');
}
