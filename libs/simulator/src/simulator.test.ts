import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { postMessages, postResponses, readEvents, readJson } from './__fixtures__/test-requests.ts';
import { type Simulator, startSimulator } from './simulator.ts';

let simulator: Simulator;

beforeEach(async () => {
  simulator = await startSimulator();
});

afterEach(async () => simulator[Symbol.asyncDispose]());

describe('the record', () => {
  it('has the request byte for byte, with its credential masked', async () => {
    const body = '{"model":"gpt-5.5", "input":"é", "metadata":{"n":"12345678901234567890"}}';
    const headers = { authorization: 'Bearer secret', 'session-id': 's1' };
    await (await fetch(`${simulator.url}/v1/responses?x=1`, { method: 'POST', headers, body })).text();
    const [request] = simulator.requests();
    expect(Buffer.from(request?.body ?? []).toString()).toBe(body);
    expect(request).toMatchObject({
      account: 'secret',
      path: '/v1/responses',
      query: 'x=1',
      headers: { authorization: '***', 'session-id': 's1' },
      bodyBytes: Buffer.byteLength(body),
      json: { input: 'é' },
      model: 'gpt-5.5',
      stream: false,
      status: 200,
      outcome: 'completed',
    });
  });

  it('bills what the answer says it cost', async () => {
    const events = await readEvents(postResponses(simulator, { input: 'Hi #reason 5' }));
    const { usage } = JSON.parse(events.at(-1)?.data ?? '').response;
    expect(simulator.requests()[0]).toMatchObject({ eventsSent: events.length });
    expect(simulator.billed().accounts.a).toEqual({
      requests: 1,
      inputTokens: usage.input_tokens,
      cachedTokens: 0,
      outputTokens: usage.output_tokens,
      reasoningTokens: 5,
    });
  });

  it('bills a cancelled request for what was sent until then', async () => {
    const abort = new AbortController();
    simulator.faults.add({ fault: { kind: 'delay', betweenEventsMs: 1 } });
    const answer = await postMessages(
      simulator,
      { messages: [{ role: 'user', content: '#long 5000' }], max_tokens: 60_000 },
      { signal: abort.signal },
    );
    await expect.poll(() => simulator.requests()[0]?.eventsSent).toBeGreaterThan(20);
    abort.abort();
    await expect(answer.text()).rejects.toThrow('aborted');
    await expect.poll(() => simulator.requests()[0]?.outcome).toBe('cancelled');
    const [request] = simulator.requests();
    expect(request?.billed.outputTokens).toBeGreaterThan(10);
    expect(request?.billed.outputTokens).toBeLessThan(5000);
    expect(simulator.billed().total.outputTokens).toBe(request?.billed.outputTokens);
  });

  it('waits for a client that does not read', async () => {
    const abort = new AbortController();
    const answer = await postResponses(simulator, { input: '#long 300000' }, { signal: abort.signal });
    const sentMeanwhile = async () => {
      const before = simulator.requests()[0]?.eventsSent ?? 0;
      await new Promise((resolve) => setTimeout(resolve, 100));
      return (simulator.requests()[0]?.eventsSent ?? 0) - before;
    };
    await expect.poll(sentMeanwhile).toBe(0);
    expect(simulator.requests()[0]).toMatchObject({ outcome: 'running' });
    abort.abort();
    await expect(answer.text()).rejects.toThrow('aborted');
    await expect.poll(() => simulator.requests()[0]?.outcome).toBe('cancelled');
  });

  it('knows who was refused', async () => {
    await postResponses(simulator, { model: 'gpt-0' });
    expect(simulator.requests()[0]).toMatchObject({ outcome: 'refused', status: 404, model: 'gpt-0' });
  });
});

describe('accounts', () => {
  it('are any credential, in either header', async () => {
    const messages = await postMessages(simulator, {}, { headers: { 'x-api-key': '', authorization: 'Bearer b' } });
    expect([messages.status, simulator.requests()[0]?.account]).toEqual([200, 'b']);
  });

  it('are needed', async () => {
    expect((await fetch(`${simulator.url}/v1/models`)).status).toBe(401);
  });
});

describe('the lists of models', () => {
  const list = (headers: Record<string, string>) => fetch(`${simulator.url}/v1/models`, { headers });
  const bearer = { authorization: 'Bearer a' };
  const messagesHeaders = { 'x-api-key': 'a', 'anthropic-version': '2023-06-01' };

  it('have the shape of the provider that the headers belong to', async () => {
    expect(await readJson(list(bearer))).toMatchObject({
      object: 'list',
      data: [{ id: 'gpt-5.5', object: 'model' }, {}, {}],
    });
    expect(await readJson(list(messagesHeaders))).toMatchObject({
      data: [{ type: 'model', id: 'claude-opus-4-8', display_name: 'Claude Opus 4.8' }, {}, {}, {}],
      has_more: false,
      first_id: 'claude-opus-4-8',
      last_id: 'claude-haiku-4-5-20251001',
    });
  });

  it('can be changed, and decide which models answer', async () => {
    simulator.models.set({ responses: ['gpt-7'] });
    expect((await readJson(list(bearer))).data).toMatchObject([{ id: 'gpt-7' }]);
    expect((await postResponses(simulator, { model: 'gpt-7' })).status).toBe(200);
    expect((await postResponses(simulator)).status).toBe(404);
    simulator.reset();
    expect((await postResponses(simulator)).status).toBe(200);
  });

  it('can be out of reach while the models still answer', async () => {
    simulator.models.set({ unreachable: ['messages'] });
    await expect(list(messagesHeaders)).rejects.toThrow('fetch failed');
    expect((await list(bearer)).status).toBe(200);
    expect((await postMessages(simulator)).status).toBe(200);
  });
});

describe('HTTP', () => {
  it('refuses other paths and methods', async () => {
    const headers = { authorization: 'Bearer a' };
    expect((await fetch(`${simulator.url}/v1/other`, { headers })).status).toBe(404);
    expect((await fetch(`${simulator.url}/v1/responses`, { headers })).status).toBe(405);
  });

  it('refuses compressed and oversized bodies', async () => {
    const compressed = await postMessages(simulator, {}, { headers: { 'content-encoding': 'gzip' } });
    const oversized = await postMessages(simulator, { system: 'x'.repeat(33 * 1024 * 1024) });
    expect([compressed.status, oversized.status]).toEqual([415, 413]);
  });

  it('serves many streams at once, and others between them', async () => {
    const streams = Array.from({ length: 50 }, () => readEvents(postResponses(simulator, { input: '#long 500' })));
    expect((await postMessages(simulator, { stream: false })).status).toBe(200);
    expect(new Set((await Promise.all(streams)).map((events) => events.length))).toEqual(new Set([508]));
    expect(simulator.billed().total.requests).toBe(51);
  });
});

describe('the control interface', () => {
  const call = async (method: string, name: string, body?: object) =>
    readJson(fetch(`${simulator.url}/_simulator/${name}`, { method, body: JSON.stringify(body) }));

  it('does over HTTP what the library does', async () => {
    const { id } = await call('POST', 'faults', { account: 'a', times: 1, fault: { preset: 'overloaded' } });
    expect(await call('GET', 'faults')).toMatchObject({ faults: [{ id, timesLeft: 1, endsAtMs: null }] });
    await postMessages(simulator);
    await postMessages(simulator);
    const [first] = simulator.requests({ account: 'a' });
    const { requests } = await call('GET', 'requests?account=a');
    expect(requests).toMatchObject([
      { id: first?.id, status: 529, json: { model: 'claude-haiku-4-5' } },
      { status: 200 },
    ]);
    expect(Buffer.from(requests[0].bodyBase64, 'base64')).toEqual(Buffer.from(first?.body ?? []));
    expect((await call('GET', 'requests?outcome=faulted')).requests).toHaveLength(1);
    expect(await call('GET', 'billed')).toEqual(simulator.billed());
    expect(await call('POST', 'models', { messages: ['claude-x'], unreachable: ['responses'] })).toEqual(
      simulator.models.get(),
    );
    await call('POST', 'faults', { fault: { kind: 'reset' } });
    await call('DELETE', 'faults');
    expect(simulator.faults.list()).toEqual([]);
    await call('POST', 'reset');
    expect(await call('GET', 'requests')).toEqual({ requests: [] });
    expect(await call('GET', 'billed')).toMatchObject({ total: { requests: 0 }, accounts: {} });
  });

  it('explains what is wrong with a script', async () => {
    const send = (body: string) => fetch(`${simulator.url}/_simulator/faults`, { method: 'POST', body });
    const unknownKind = await send('{"fault":{"kind":"explode"}}');
    expect([unknownKind.status, await unknownKind.text()]).toEqual([400, expect.stringContaining('fault')]);
    expect((await send('{')).status).toBe(400);
    expect((await fetch(`${simulator.url}/_simulator/other`)).status).toBe(404);
    expect(await call('POST', 'faults', { times: 0, fault: { kind: 'reset' } })).toMatchObject({
      error: { message: expect.stringContaining('times') },
    });
  });
});
