import { Dialect, type ExecuteResponse } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { type Simulator, startSimulator } from '@gateway/simulator';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  type AdapterUnderTest,
  type Answer,
  gather,
  requestFrames,
  startAdapter,
} from './__fixtures__/adapter-under-test.ts';

describe.each(['api', 'subscription'] as const)('the relay to a backend of the kind %s', (responsesBackend) => {
  let simulator: Simulator;
  let adapter: AdapterUnderTest;

  beforeAll(async () => {
    simulator = await startSimulator({ responsesBackend });
    adapter = startAdapter(simulator.url);
  });
  beforeEach(() => simulator.reset());
  afterAll(async () => {
    await adapter[Symbol.asyncDispose]();
    await simulator[Symbol.asyncDispose]();
  });

  const execute = (body: string, forwardHeaders: Record<string, string> = {}): Promise<Answer> =>
    gather(adapter.client.execute(requestFrames({ dialect: Dialect.RESPONSES, body, forwardHeaders })));

  it('answers with the events of the provider, whatever the client said of streaming', async () => {
    const { head, outcome, usage, body } = await execute(request('Hello', { stream: false }));
    expect(head).toMatchObject({
      status: 200,
      headers: { 'content-type': expect.stringMatching(/^text\/event-stream/) },
    });
    expect(outcome?.attempt?.result).toBe(AttemptResult.SUCCEEDED);
    const events = eventsOf(body);
    expect(events.map((event) => event.type).slice(0, 2)).toEqual(['response.created', 'response.in_progress']);
    expect(events.at(-1)?.type).toBe('response.completed');
    expect(head?.answerId).toBe(events[0]?.response?.id);
    expect(usage).toMatchObject({ estimated: false });
    expect(simulator.billed().total).toMatchObject({
      requests: 1,
      inputTokens: Number(usage?.inputTokens),
      outputTokens: Number(usage?.outputTokens),
    });
  });

  it('sends a large body as the client wrote it', async () => {
    // The simulator's answer repeats the last turn: that one is short.
    const contents = ['All "work" and no play.\n'.repeat(40_000), 'short'];
    const input = JSON.stringify(contents.map((content) => ({ role: 'user', content })));
    const { outcome } = await execute(`{"model":"x","input":${input},"store":true}`);
    expect(outcome?.attempt?.result).toBe(AttemptResult.SUCCEEDED);
    const [received] = simulator.requests();
    const sent = `{"model":"gpt-5.5","input":${input},"store":false,"stream":true}`;
    expect(received?.headers['content-length']).toBe(String(sent.length));
    // The simulator keeps the start of the body.
    expect(sent.startsWith(Buffer.from(received?.body ?? '').toString())).toBe(true);
    expect(received?.body.length).toBeGreaterThan(0);
  });

  it('sends the body as the client wrote it, but for the members that are the gateway’s', async () => {
    const client = ' {"max_output_tokens":5, "input":[] ,"metadata":{"n":"\\u0041"},"model":"x","store":true }';
    await execute(client, { 'x-codex-turn-state': 'ts' });
    const [received] = simulator.requests();
    expect(Buffer.from(received?.body ?? '').toString()).toBe(
      ' {"input":[] ,"metadata":{"n":"\\u0041"},"model":"gpt-5.5","store":false,"stream":true }',
    );
    expect(received?.headers).toMatchObject({ 'x-codex-turn-state': 'ts', accept: 'text/event-stream' });
  });

  it('sends arbitrary members as they are', async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), async (value) => {
        simulator.reset();
        const member = `"x_anything": ${JSON.stringify(value, null, 1)}`;
        await execute(`{${member},"model":"x","stream":1,"store":1,"input":[]}`);
        expect(Buffer.from(simulator.requests()[0]?.body ?? '').toString()).toBe(
          `{${member},"model":"gpt-5.5","stream":true,"store":false,"input":[]}`,
        );
      }),
      { numRuns: 25 },
    );
  });

  it('fills an empty output at the end', async () => {
    simulator.faults.add({ fault: { kind: 'empty_output' } });
    const events = eventsOf((await execute(request('#reason 8 Hello'))).body);
    const items = events.filter((event) => event.type === 'response.output_item.done').map((event) => event.item);
    expect(items.length).toBeGreaterThan(1);
    expect(events.at(-1)?.response?.output).toEqual(items);
  });

  it.each(['unknown_events', 'split_utf8', 'usage_missing'] as const)('does not mind %s', async (kind) => {
    simulator.faults.add({ fault: { kind } });
    const { outcome, body, usage } = await execute(request('Hello #long 20'));
    expect(outcome?.attempt?.result).toBe(AttemptResult.SUCCEEDED);
    expect(textOf(body)).toContain('één naïve word 日本');
    expect(usage?.estimated).toBe(kind === 'usage_missing');
    expect(usage?.outputTokens).toBeGreaterThan(0);
  });

  it.each(['failed', 'error_event'] as const)(
    'leaves a stream that begins with %s to another attempt',
    async (kind) => {
      simulator.faults.add({ fault: { kind, error: { code: 'rate_limit_exceeded', message: 'Slow down.' } } });
      const { head, outcome } = await execute(request('Hello'));
      expect(head).toBeUndefined();
      expect(outcome?.attempt?.result).toBe(AttemptResult.RATE_LIMITED);
      const { status, contentType, body } = outcome?.upstreamAnswer ?? {};
      expect({ status, contentType }).toEqual({
        status: 200,
        contentType: expect.stringMatching(/^text\/event-stream/),
      });
      expect(Buffer.from(body ?? '').toString()).toContain('Slow down.');
    },
  );

  it.each(['failed', 'error_event'] as const)(
    'sends reasoning that can’t be read no second time, reported by %s',
    async (kind) => {
      const error = { code: 'invalid_encrypted_content', message: 'The encrypted content could not be verified.' };
      simulator.faults.add({ times: 1, fault: { kind, error } });
      const input = [
        { type: 'reasoning', encrypted_content: 'opaque', summary: [] },
        { role: 'user', content: 'Hello' },
      ];
      const { outcome, body } = await execute(JSON.stringify({ model: 'x', input }));
      expect(outcome?.attempt?.result).toBe(AttemptResult.SUCCEEDED);
      expect(body).toContain('response.completed');
      expect(body).not.toContain('invalid_encrypted_content');
      expect(simulator.requests().map(({ json }) => (json as { input: unknown }).input)).toEqual([
        input,
        input.slice(1),
      ]);
    },
  );

  it.each(['failed', 'error_event'] as const)('relays %s as the end when the request is at fault', async (kind) => {
    simulator.faults.add({ fault: { kind, error: { code: 'context_length_exceeded', message: 'Too long.' } } });
    const { outcome, body } = await execute(request('Hello'));
    expect(outcome).toMatchObject({ attempt: { result: AttemptResult.REJECTED }, answerComplete: true });
    expect(body).toContain('Too long.');
  });

  it.each(['failed', 'error_event'] as const)('relays %s as the end after content', async (kind) => {
    simulator.faults.add({ fault: { kind, afterEvents: 6, error: { code: 'server_error', message: 'Oh no.' } } });
    const { outcome, body, usage } = await execute(request('Hello #long 20'));
    expect(outcome).toMatchObject({
      attempt: { result: AttemptResult.SERVER_ERROR, answerBegan: true },
      answerComplete: true,
    });
    expect(eventsOf(body)).toHaveLength(7);
    expect(body).toContain('Oh no.');
    expect(usage).toMatchObject({ estimated: true });
  });

  it.each(['end', 'reset'] as const)('reports that a stream broke (%s), after whole events', async (kind) => {
    simulator.faults.add({ fault: { kind, afterEvents: 6 } });
    const { head, outcome, body } = await execute(request('Hello #long 20'));
    expect(head?.status).toBe(200);
    expect(outcome).toMatchObject({
      attempt: { result: AttemptResult.SERVER_ERROR, answerBegan: true },
      answerComplete: false,
    });
    expect(body).toMatch(/\n\n$/);
    expect(outcome?.upstreamAnswer).toBeUndefined();
  });

  it.each([
    [400, AttemptResult.REJECTED],
    [404, AttemptResult.REJECTED],
    [429, AttemptResult.RATE_LIMITED],
    [503, AttemptResult.SERVER_ERROR],
  ])('passes an answer with the status %d on as it came', async (status, result) => {
    const body = '{"error" : {"message":"Of the provider", "code":null}}';
    simulator.faults.add({
      fault: { kind: 'status', status, headers: { 'content-type': 'application/problem+json' }, body },
    });
    const { head, outcome } = await execute(request('Hello'));
    expect(head).toBeUndefined();
    expect(outcome?.attempt?.result).toBe(result);
    expect(outcome?.upstreamAnswer).toMatchObject({ status, contentType: 'application/problem+json' });
    expect(Buffer.from(outcome?.upstreamAnswer?.body ?? '').toString()).toBe(body);
  });

  it.each([
    ['unauthorized', AttemptResult.UNAUTHORIZED, undefined],
    ['forbidden', AttemptResult.REFUSED, 403],
    ['forbidden_html', AttemptResult.NETWORK_ERROR, undefined],
  ] as const)(
    'keeps back what refuses the credential, and what is not the provider’s: %s',
    async (preset, ...expected) => {
      simulator.faults.add({ fault: { preset } });
      const { outcome } = await execute(request('Hello'));
      expect([outcome?.attempt?.result, outcome?.upstreamAnswer?.status]).toEqual(expected);
    },
  );

  it('reports until when an account is limited', async () => {
    simulator.faults.add({ fault: { preset: 'usage_limit_reached', resetAfterSeconds: 3_600 } });
    const { outcome } = await execute(request('Hello'));
    expect(outcome?.attempt?.retryAtMs).toBeGreaterThan(Date.now() + 3_000_000);
    expect(outcome?.upstreamAnswer?.status).toBe(429);
  });

  it('hands the turn state of the provider to the client', async () => {
    simulator.faults.add({
      fault: { kind: 'headers', headers: { 'x-codex-turn-state': 'ts-1', 'x-other': 'secret' } },
    });
    const { head } = await execute(request('Hello'));
    expect(head?.headers).toMatchObject({ 'x-codex-turn-state': 'ts-1' });
    expect(head?.headers).not.toHaveProperty('x-other');
  });

  it('closes the connection to the provider when the call is cancelled', async () => {
    simulator.faults.add({ fault: { kind: 'delay', betweenEventsMs: 20 } });
    const cancel = new AbortController();
    const frames = adapter.client.execute(requestFrames({ dialect: Dialect.RESPONSES, body: request('#long 1000') }), {
      signal: cancel.signal,
    });
    await expect(readUntilContent(frames, cancel)).rejects.toThrow();
    await expect.poll(() => simulator.requests()[0]?.outcome).toBe('cancelled');
  });
});

interface WireEvent {
  readonly type: string;
  readonly delta?: string;
  readonly item?: object;
  readonly response?: { readonly id: string; readonly output: readonly object[] };
}

function eventsOf(body: string): readonly WireEvent[] {
  return [...body.matchAll(/^data: (\{.*\})$/gm)].map(([, data]) => JSON.parse(data ?? ''));
}

function textOf(body: string): string {
  const deltas = eventsOf(body).filter((event) => event.type === 'response.output_text.delta');
  return deltas.map((event) => event.delta).join('');
}

function request(text: string, members: object = {}): string {
  const input = [{ type: 'message', role: 'user', content: [{ type: 'input_text', text }] }];
  return JSON.stringify({ model: 'gpt-5.5', input, ...members });
}

async function readUntilContent(frames: AsyncIterable<ExecuteResponse>, cancel: AbortController): Promise<void> {
  for await (const frame of frames) if (frame.body.length > 0) cancel.abort();
}
