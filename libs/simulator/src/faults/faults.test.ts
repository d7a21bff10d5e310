import { Agent, request } from 'node:http';
import { ManualTime } from '@gateway/time/simulated';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { postMessages, postResponses, readEvents } from '../__fixtures__/test-requests.ts';
import { type Simulator, startSimulator } from '../simulator.ts';
import type { Fault } from './fault-script.ts';

let simulator: Simulator;

beforeAll(async () => {
  simulator = await startSimulator();
});

afterEach(() => simulator.reset());
afterAll(async () => simulator[Symbol.asyncDispose]());

const inject = (fault: Fault) => simulator.faults.add({ account: 'a', times: 1, fault });
const lastRequest = () => simulator.requests().at(-1);

describe('faults that replace the answer', () => {
  it('answer the status, headers and body of the script, once', async () => {
    inject({ kind: 'status', status: 418, headers: { 'x-kind': 'tea' }, body: { pot: true } });
    const answer = await postResponses(simulator);
    expect([answer.status, answer.headers.get('x-kind'), await answer.json()]).toEqual([418, 'tea', { pot: true }]);
    expect(lastRequest()).toMatchObject({
      outcome: 'faulted',
      status: 418,
      faults: ['status'],
      billed: { inputTokens: 0 },
    });
    expect((await postResponses(simulator)).status).toBe(200);
  });

  it('encode the body of the script', async () => {
    for (const encoding of ['gzip', 'deflate', 'br', 'zstd'] as const) {
      inject({ kind: 'status', status: 400, body: { pot: true }, encoding });
      const answer = await postResponses(simulator);
      // The client decodes the body.
      expect([answer.headers.get('content-encoding'), await answer.json()]).toEqual([encoding, { pot: true }]);
    }
  });

  it('close a connection that has carried a request before, and answer on a new one', async () => {
    simulator.faults.add({ account: 'a', fault: { kind: 'close_reused' } });
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const post = () =>
      new Promise<number | undefined>((resolve, reject) => {
        const headers = { authorization: 'Bearer a', 'content-type': 'application/json' };
        const options = { method: 'POST', agent, headers };
        const sent = request(`${simulator.url}/v1/responses`, options, (answer) =>
          answer.resume().on('end', () => resolve(answer.statusCode)),
        );
        sent.on('error', reject).end(JSON.stringify({ model: 'gpt-5.5', input: 'Hello' }));
      });
    expect(await post()).toBe(200);
    await expect(post()).rejects.toMatchObject({ code: 'ECONNRESET' });
    expect(lastRequest()).toMatchObject({ outcome: 'faulted', status: null, faults: ['close_reused'] });
    expect(await post()).toBe(200);
    agent.destroy();
  });

  it('are for the account they name only', async () => {
    inject({ kind: 'status', status: 500 });
    expect((await postResponses(simulator, {}, { account: 'b' })).status).toBe(200);
    expect((await postResponses(simulator)).status).toBe(500);
  });

  it('reset the connection', async () => {
    inject({ kind: 'reset' });
    await expect(postResponses(simulator)).rejects.toMatchObject({ cause: { code: 'ECONNRESET' } });
    expect(lastRequest()).toMatchObject({ outcome: 'faulted', status: null, faults: ['reset'] });
  });

  it('leave the client without an answer until it goes', async () => {
    using time = new ManualTime(1_800_000_000_000);
    inject({ kind: 'stall' });
    const abort = new AbortController();
    const answer = postResponses(simulator, {}, { signal: abort.signal });
    await expect.poll(() => lastRequest()?.faults).toEqual(['stall']);
    abort.abort();
    await expect(answer).rejects.toThrow('aborted');
    await expect.poll(lastRequest).toMatchObject({ outcome: 'cancelled', endedAtMs: time.nowMs, status: null });
  });

  it('are for lists of models and counts only when named', async () => {
    simulator.faults.add({ path: '/v1/models', fault: { kind: 'status', status: 503 } });
    const list = () => fetch(`${simulator.url}/v1/models`, { headers: { authorization: 'Bearer a' } });
    expect([(await postResponses(simulator)).status, (await list()).status]).toEqual([200, 503]);
  });
});

describe('faults of streams', () => {
  it('reset after so many events', async () => {
    inject({ kind: 'reset', afterEvents: 3 });
    const { text, error } = await readUntilError(await postResponses(simulator));
    expect(text.split('\n\n').length - 1).toBe(3);
    expect(error).toMatchObject({ cause: { code: 'ECONNRESET' } });
    expect(lastRequest()).toMatchObject({ outcome: 'faulted', eventsSent: 3 });
  });

  it('stall after so many events, and notice at once when the client goes', async () => {
    inject({ kind: 'stall', afterEvents: 5 });
    const abort = new AbortController();
    const answer = await postMessages(simulator, {}, { signal: abort.signal });
    await expect.poll(lastRequest).toMatchObject({ outcome: 'running', eventsSent: 5 });
    abort.abort();
    await expect(answer.text()).rejects.toThrow('aborted');
    await expect.poll(lastRequest).toMatchObject({ outcome: 'cancelled', faults: ['stall'] });
    expect(lastRequest()?.billed).toMatchObject({ inputTokens: 18, outputTokens: 3 });
  });

  it('stall after the headers', async () => {
    inject({ kind: 'stall', afterEvents: 0 });
    const abort = new AbortController();
    expect((await postResponses(simulator, {}, { signal: abort.signal })).status).toBe(200);
    expect(lastRequest()).toMatchObject({ outcome: 'running', eventsSent: 0, billed: { inputTokens: 0 } });
    abort.abort();
  });

  it('end without the terminal event', async () => {
    inject({ kind: 'end' });
    const events = await readEvents(postMessages(simulator));
    expect(events.at(-1)?.name).toBe('message_delta');
    expect(lastRequest()?.outcome).toBe('faulted');
  });

  it('end after so many events', async () => {
    inject({ kind: 'end', afterEvents: 2 });
    expect(await readEvents(postMessages(simulator))).toHaveLength(2);
  });

  it('send an error as the first event, or later', async () => {
    inject({ kind: 'error_event' });
    inject({ kind: 'error_event', afterEvents: 4, error: { type: 'api_error', message: 'Oh' } });
    const [first] = await readEvents(postMessages(simulator));
    expect(JSON.parse(first?.data ?? '')).toEqual({
      type: 'error',
      error: { type: 'overloaded_error', message: 'Overloaded' },
    });
    const later = await readEvents(postMessages(simulator));
    expect(later).toHaveLength(5);
    expect(JSON.parse(later[4]?.data ?? '')).toEqual({ type: 'error', error: { type: 'api_error', message: 'Oh' } });
  });

  it('send the flat error event of the Responses format, with its sequence number', async () => {
    inject({ kind: 'error_event', afterEvents: 2, error: { code: 'rate_limit_exceeded', message: 'Slow down' } });
    const events = await readEvents(postResponses(simulator));
    expect(JSON.parse(events.at(-1)?.data ?? '')).toEqual({
      type: 'error',
      code: 'rate_limit_exceeded',
      message: 'Slow down',
      param: null,
      sequence_number: 2,
    });
  });

  it('fail with response.failed', async () => {
    inject({ kind: 'failed', error: { code: 'rate_limit_exceeded', message: 'Slow down' } });
    const events = await readEvents(postResponses(simulator));
    expect(events.map(({ name }) => name)).toEqual(['response.created', 'response.in_progress', 'response.failed']);
    expect(JSON.parse(events[2]?.data ?? '').response).toMatchObject({
      status: 'failed',
      error: { code: 'rate_limit_exceeded', message: 'Slow down' },
    });
  });

  it('fail with any code of the provider, which may be that encrypted reasoning is of another account', async () => {
    const error = {
      code: 'invalid_encrypted_content',
      message: 'The encrypted content gAAA... could not be verified.',
    };
    inject({ kind: 'failed', error });
    const answer = await postResponses(simulator);
    const last = JSON.parse((await readEvents(answer)).at(-1)?.data ?? '');
    expect([answer.status, last]).toMatchObject([200, { type: 'response.failed', response: { error } }]);
  });

  it('break the JSON of one event and go on', async () => {
    inject({ kind: 'broken_json', afterEvents: 4 });
    const events = await readEvents(postResponses(simulator));
    expect(events.map(({ data }) => isJson(data)).indexOf(false)).toBe(4);
    expect(events.at(-1)?.name).toBe('response.completed');
    expect(lastRequest()?.outcome).toBe('faulted');
  });

  it('send a line that is longer than anyone should keep', async () => {
    inject({ kind: 'endless_line', afterEvents: 1, bytes: 100_000 });
    const text = await (await postResponses(simulator)).text();
    expect(text.slice(text.lastIndexOf('\n') + 1)).toBe(`data: ${'x'.repeat(100_000)}`);
  });

  it('send a line without end, at the pace of the client, until it goes', async () => {
    inject({ kind: 'endless_line' });
    const abort = new AbortController();
    const answer = await postResponses(simulator, {}, { signal: abort.signal });
    const reader = answer.body?.getReader();
    let bytes = 0;
    while (bytes < 1_000_000) bytes += (await reader?.read())?.value?.length ?? 0;
    abort.abort();
    await expect.poll(() => lastRequest()?.outcome).toBe('cancelled');
  });

  it('mix in events of unknown names', async () => {
    inject({ kind: 'unknown_events' });
    const names = (await readEvents(postResponses(simulator))).map(({ name }) => name);
    const known = names.filter((name) => name.startsWith('response.'));
    expect(names.filter((name) => name === 'simulator.unknown')).toHaveLength(known.length);
    expect(known.at(-1)).toBe('response.completed');
    expect(lastRequest()?.outcome).toBe('completed');
  });

  it('cut characters and lines in two without changing the stream', async () => {
    inject({ kind: 'split_utf8' });
    const answer = await postMessages(simulator, { messages: [{ role: 'user', content: '日本 🚀 één' }] });
    const pieces: Uint8Array[] = [];
    for await (const piece of answer.body ?? []) pieces.push(piece);
    const cut = pieces.some((piece) => Buffer.from(piece).toString().includes('\ufffd'));
    const text = Buffer.concat(pieces).toString();
    expect([cut, text.includes(' 🚀'), text.includes('\ufffd')]).toEqual([true, true, false]);
  });

  it('leave the usage out', async () => {
    const missing = { kind: 'usage_missing' } as const;
    inject(missing);
    const responses = await readEvents(postResponses(simulator));
    expect(JSON.parse(responses.at(-1)?.data ?? '').response.usage).toBe(null);
    inject(missing);
    const messages = await readEvents(postMessages(simulator));
    expect(messages.some(({ data }) => data.includes('"usage"'))).toBe(false);
    expect(lastRequest()?.billed.outputTokens).toBe(3);
  });

  it('report another usage', async () => {
    const usage = { kind: 'usage', members: { output_tokens: 1e15 }, atStart: { input_tokens: -1 } } as const;
    inject(usage);
    const responses = await readEvents(postResponses(simulator));
    expect(JSON.parse(responses.at(-1)?.data ?? '').response.usage).toMatchObject({ output_tokens: 1e15 });
    inject(usage);
    const messages = await readEvents(postMessages(simulator));
    const usages = messages
      .map(({ data }) => JSON.parse(data))
      .map(({ message, usage }) => (message ?? { usage }).usage);
    expect(usages.filter((each) => each !== undefined)).toMatchObject([{ input_tokens: -1 }, { output_tokens: 1e15 }]);
    expect(lastRequest()).toMatchObject({ billed: { outputTokens: 3 }, faults: ['usage'] });
  });

  it('leave the numbers of events out', async () => {
    inject({ kind: 'unnumbered_events' });
    const events = await readEvents(postResponses(simulator));
    expect(events.some(({ data }) => data.includes('sequence_number'))).toBe(false);
  });

  it('leave the output of the final event empty', async () => {
    inject({ kind: 'empty_output' });
    const events = await readEvents(postResponses(simulator));
    expect(JSON.parse(events.at(-1)?.data ?? '').response.output).toEqual([]);
  });

  it.each([
    ['before the headers', { beforeHeadersMs: 60_000 }, { status: null, eventsSent: 0 }],
    ['before the first event', { beforeFirstEventMs: 60_000 }, { status: 200, eventsSent: 0 }],
    ['between events', { betweenEventsMs: 60_000 }, { status: 200, eventsSent: 1 }],
    ['after so many events', { pause: { afterEvents: 3, ms: 60_000 } }, { status: 200, eventsSent: 3 }],
  ])('wait %s, and no longer than the client', async (_place, delay, expected) => {
    inject({ kind: 'delay', ...delay });
    const abort = new AbortController();
    const text = postResponses(simulator, {}, { signal: abort.signal }).then((answer) => answer.text());
    await expect.poll(lastRequest).toMatchObject({ faults: ['delay'], outcome: 'running', ...expected });
    abort.abort();
    await expect(text).rejects.toThrow('aborted');
    await expect.poll(lastRequest).toMatchObject({ outcome: 'cancelled', ...expected });
  });

  it('add headers to a good answer', async () => {
    inject({ kind: 'headers', headers: { 'x-codex-primary-used-percent': '80.0' } });
    const answer = await postResponses(simulator, { stream: false });
    expect([answer.status, answer.headers.get('x-codex-primary-used-percent')]).toEqual([200, '80.0']);
  });
});

async function readUntilError(answer: Response): Promise<{ text: string; error: unknown }> {
  const decoder = new TextDecoder();
  let text = '';
  try {
    for await (const piece of answer.body ?? []) text += decoder.decode(piece, { stream: true });
  } catch (error) {
    return { text, error };
  }
  return { text, error: undefined };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
