import { setTimeout as sleep } from 'node:timers/promises';
import { roomMs, slowness } from '@gateway/testkit/room';
import { describe, expect, it } from 'vitest';
import { inFlightOf } from '../client/accounts.ts';
import { chat, eventsOf } from '../client/chat.ts';
import { messagesBody, relayHeaders, responsesBody } from '../client/relay.ts';
import { loggedRequestsOf } from '../client/request-log.ts';
import { SlowReader } from '../client/slow-reader.ts';
import { issueToken, type TestToken } from '../client/tokens.ts';
import { usageOf } from '../client/usage.ts';
import { leaseTtlSeconds, streamLimitSettings } from '../topologies/stream-limits-file.ts';
import type { Topology } from '../topologies/topology.ts';

const stallMs = Number(streamLimitSettings.WRITE_STALL_SECONDS) * 1_000;
const longestMs = Number(streamLimitSettings.MAX_STREAM_SECONDS) * 1_000;
const idleMs = Number(streamLimitSettings.UPSTREAM_IDLE_TIMEOUT_SECONDS) * 1_000;
const dayBudget = 100_000_000;

const chatBody = (model: string) => (text: string, more: object) => ({
  model,
  messages: [{ role: 'user', content: text }],
  max_completion_tokens: 128_000,
  ...more,
});

const endpoints = [
  { path: '/v1/chat/completions', account: 'responses', make: chatBody('gateway/sterk') },
  { path: '/v1/chat/completions', account: 'messages', make: chatBody('gateway/claude') },
  {
    path: '/v1/messages',
    account: 'messages',
    make: (text: string, more: object) => messagesBody('gateway/claude', text, { ...more, max_tokens: 128_000 }),
  },
  {
    path: '/v1/responses',
    account: 'responses',
    make: (text: string, more: object) => responsesBody('gpt-5.5', text, { ...more }),
  },
] as const;

type Endpoint = (typeof endpoints)[number];

/**
 * Streams whose reader is slow or stalls, and long streams. Needs the settings and the file of
 * `stream-limits-file`.
 */
export function streamLimitsBehaviour(gateway: () => Topology): void {
  const budgeted = () => issueToken(gateway(), { tokensPerDay: dayBudget });
  const providerRecord = (marker: string) =>
    gateway()
      .simulator.requests()
      .filter((request) => Buffer.from(request.body).includes(marker))
      .at(-1);
  const ask = ({ path, make }: Endpoint, token: TestToken, text: string, more: object) => {
    const headers =
      path === '/v1/chat/completions'
        ? { authorization: `Bearer ${token.text}`, 'content-type': 'application/json' }
        : relayHeaders(token.text, path);
    return new SlowReader(gateway(), path, headers, make(text, more));
  };
  /** One request is recorded, with the same tokens in the day budget. */
  const expectOneRequest = async (token: TestToken) => {
    await expect.poll(async () => (await usageOf(gateway(), token.text)).today.requests).toBe(1);
    const { today, limits } = await usageOf(gateway(), token.text);
    expect(today.inputTokens).toBeGreaterThan(0);
    expect(limits.tokensPerDay?.remaining).toBe(dayBudget - today.totalTokens);
    return today;
  };

  describe('a client that stops reading', () => {
    it.each(endpoints)('a stream of $path ($account) is cut off, and its account is free', async (endpoint) => {
      const token = await budgeted();
      const marker = `stalled-${crypto.randomUUID()}`;
      // More than all buffers on its way hold. Some events are skipped or forwarded.
      gateway().simulator.faults.add({ times: 1, fault: { kind: 'unknown_events' } });
      const askedAtMs = performance.now();
      using reader = ask(endpoint, token, `${marker} #bytes 48000000`, { stream: true });
      await expect.poll(() => providerRecord(marker)).toMatchObject({ outcome: 'cancelled' });
      expect(performance.now() - askedAtMs).toBeGreaterThan(stallMs * 0.9);
      // Freed by the end of the request, not by the end of its lease.
      const soon = { timeout: leaseTtlSeconds * 1_000 };
      await expect.poll(() => inFlightOf(gateway(), `${endpoint.account}/a`), soon).toBe(0);
      await reader.takeAll();

      expect((await expectOneRequest(token)).outputTokens).toBeGreaterThan(0);
      const [logged] = await loggedRequestsOf(gateway(), token.tokenId);
      expect(logged).toMatchObject({
        ending: 'REQUEST_ENDING_ABORTED',
        status: 499,
        attempts: [{ cancelReason: 'CANCEL_REASON_CLIENT_STALLED' }],
      });
    });

    it('a large answer in one piece is cut off as well', async () => {
      const [endpoint] = endpoints.filter(({ path }) => path === '/v1/messages');
      if (endpoint === undefined) return expect.fail('there is such an endpoint');
      const token = await budgeted();
      const fault = { kind: 'status', status: 200, body: largeMessage } as const;
      gateway().simulator.faults.add({ account: 'messages-a', times: 1, fault });
      using reader = ask(endpoint, token, 'Hi', {});
      await expect
        .poll(async () => (await loggedRequestsOf(gateway(), token.tokenId))[0], { interval: 200 })
        .toMatchObject({ status: 499, attempts: [{ cancelReason: 'CANCEL_REASON_CLIENT_STALLED' }] });
      await reader.takeAll();
      const { inputTokens, outputTokens } = await expectOneRequest(token);
      expect({ inputTokens, outputTokens }).toEqual({ inputTokens: 5, outputTokens: 7 });
    });

    it('is not cut off as long as it reads something now and then', async () => {
      const [endpoint] = endpoints;
      const token = await budgeted();
      using reader = ask(endpoint, token, `alive-${crypto.randomUUID()} #long 30000`, { stream: true });
      // A rate so low that it takes several times the stall timeout until the gateway's buffers
      // have room again. If this process had to wait for its turn, it reads as much as the elapsed
      // time allows.
      const [startedAtMs, bytesPerMs] = [performance.now(), 128 / slowness];
      for (let taken = 0, passedMs = 0; passedMs < 3 * stallMs; await sleep(250)) {
        passedMs = performance.now() - startedAtMs;
        reader.take(passedMs * bytesPerMs - taken);
        taken = passedMs * bytesPerMs;
      }
      expect(reader.isOpen).toBe(true);
      await reader.takeAllUntil('data: [DONE]');
      expect(reader.taken).toContain('data: [DONE]');
      await expectOneRequest(token);
    });
  });

  describe('a provider that is silent for longer than UPSTREAM_IDLE_TIMEOUT_SECONDS', () => {
    /**
     * The account that answers each endpoint, and the number of events after which the reasoning of
     * its answer has begun, and has ended.
     */
    const events = { responses: { begun: 3, ended: 4 }, messages: { begun: 3, ended: 5 } };
    const pause = (account: Endpoint['account'], afterEvents: number) => {
      const fault = { kind: 'delay', pause: { afterEvents, ms: 2 * idleMs } } as const;
      gateway().simulator.faults.add({ account: `${account}-a`, times: 1, fault });
    };
    /** Reads an answer until its final text has come. */
    const askUntil = async (endpoint: Endpoint, last: string) => {
      const token = await budgeted();
      const reader = ask(endpoint, token, '#reason 20 Hello', { stream: true, ...thinking[endpoint.path] });
      await Promise.race([reader.takeAllUntil(last), sleep(2 * idleMs + roomMs(20_000))]);
      reader[Symbol.dispose]();
      return { taken: reader.taken, token };
    };

    it.each(endpoints)('continues while the model reasons: $path ($account)', async (endpoint) => {
      pause(endpoint.account, events[endpoint.account].begun);
      const { taken, token } = await askUntil(
        endpoint,
        endpoint.path === '/v1/chat/completions' ? completeEnds[endpoint.path] : lastChunk,
      );
      expect(taken).toMatch(/^HTTP\/1\.1 200/);
      expect(taken).toContain(completeEnds[endpoint.path]);
      await expectOneRequest(token);
      await expect
        .poll(() => inFlightOf(gateway(), `${endpoint.account}/a`), { timeout: leaseTtlSeconds * 1_000 })
        .toBe(0);
    });

    it('is given up when the model has reasoned, with the error event of a stream, and recorded', async () => {
      const [endpoint] = endpoints.filter(({ path }) => path === '/v1/responses');
      if (endpoint === undefined) return expect.fail('there is such an endpoint');
      pause(endpoint.account, events[endpoint.account].ended);
      const { taken, token } = await askUntil(endpoint, lastChunk);
      expect(lastEventOf(taken)).toMatch(lastEvents[endpoint.path]);
      expect((await expectOneRequest(token)).outputTokens).toBeGreaterThan(0);
    });
  });

  describe('a stream that lasts longer than MAX_STREAM_SECONDS', () => {
    it('is ended as its endpoint ends streams, its provider is cancelled, and it is recorded', async () => {
      const { simulator } = gateway();
      simulator.faults.add({ forSeconds: longestMs / 1_000, fault: { kind: 'delay', betweenEventsMs: 100 } });
      const running = endpoints.map(async (endpoint) => {
        const token = await budgeted();
        const marker = `paced-${crypto.randomUUID()}`;
        const reader = ask(endpoint, token, `${marker} #long 5000`, { stream: true });
        return { endpoint, token, marker, reader, isOver: reader.takeAllUntil('\r\n0\r\n\r\n') };
      });
      const startedAtMs = performance.now();
      for (const { endpoint, token, marker, reader, isOver } of await Promise.all(running)) {
        await Promise.race([isOver, sleep(longestMs + roomMs(20_000))]);
        reader[Symbol.dispose]();
        expect(performance.now() - startedAtMs).toBeGreaterThan(longestMs * 0.9);
        expect(lastEventOf(reader.taken)).toMatch(lastEvents[endpoint.path]);
        await expect.poll(() => providerRecord(marker)?.outcome).toBe('cancelled');
        expect((await expectOneRequest(token)).outputTokens).toBeGreaterThan(0);
        expect((await loggedRequestsOf(gateway(), token.tokenId))[0]).toMatchObject({
          ending: 'REQUEST_ENDING_FAILED',
          attempts: [{ cancelReason: 'CANCEL_REASON_TOO_LONG' }],
        });
      }
      simulator.faults.clear();
      for (const account of ['responses/a', 'messages/a']) expect(await inFlightOf(gateway(), account)).toBe(0);
    });

    it('is answered with an error when nothing has been sent by then, and its input is recorded', async () => {
      const { simulator } = gateway();
      simulator.faults.add({ times: 1, fault: { kind: 'delay', beforeHeadersMs: 120_000 } });
      const token = await budgeted();
      const signal = AbortSignal.timeout(longestMs + roomMs(20_000));
      const { status, json } = await chat(gateway(), token.text, { model: 'gateway/sterk' }, { signal });
      expect(status).toBe(503);
      expect(json).toMatchObject({ error: { code: 'providers_unavailable' } });
      const { outputTokens } = await expectOneRequest(token);
      expect(outputTokens).toBe(0);
      simulator.faults.clear();
    });
  });

  describe('a stream that lasts longer than its lease', () => {
    it('keeps its slot of the account', async () => {
      const { simulator } = gateway();
      simulator.faults.add({
        account: 'capped-a',
        times: 1,
        fault: { kind: 'delay', betweenEventsMs: leaseTtlSeconds * 100 },
      });
      const token = await budgeted();
      const body = { model: 'gateway/capped', messages: [{ role: 'user', content: '#long 30' }], stream: true };
      const first = chat(gateway(), token.text, body);
      await expect.poll(() => inFlightOf(gateway(), 'capped/a')).toBe(1);
      const second = await issueToken(gateway(), { kind: 'personal' });
      for (const endsAtMs = performance.now() + 2.5 * leaseTtlSeconds * 1_000; performance.now() < endsAtMs; ) {
        const { status, json } = await chat(gateway(), second.text, { model: 'gateway/capped' });
        expect(json).toMatchObject({ error: { code: 'pool_exhausted' } });
        expect(status).toBe(429);
        expect(await inFlightOf(gateway(), 'capped/a')).toBe(1);
        await sleep(200);
      }
      expect(eventsOf((await first).text).at(-1)).toBe('[DONE]');
      expect(await inFlightOf(gateway(), 'capped/a')).toBe(0);
      expect((await chat(gateway(), second.text, { model: 'gateway/capped' })).status).toBe(200);
      simulator.faults.clear();
    });
  });
}

/** More than the system's buffers between a gateway and its client hold. */
const largeMessage = {
  id: 'msg_large',
  type: 'message',
  role: 'assistant',
  model: 'claude-sonnet-5',
  content: [{ type: 'text', text: 'x'.repeat(7 * 1024 * 1024) }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 5, output_tokens: 7, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
};

/** Thinking without visible text, if it has to be requested. */
const thinking = {
  '/v1/chat/completions': {},
  '/v1/messages': { thinking: { type: 'adaptive', display: 'omitted' } },
  '/v1/responses': { reasoning: { effort: 'high' } },
} as const;

const lastChunk = '\r\n0\r\n\r\n';

const completeEnds = {
  '/v1/chat/completions': 'data: [DONE]\n\n',
  '/v1/messages': 'event: message_stop\n',
  '/v1/responses': 'event: response.completed\n',
} as const;

const lastEvents = {
  '/v1/chat/completions': /^data: \{"error":\{"code":"providers_unavailable","message":"[^"]+"\}\}$/,
  '/v1/messages': /^event: error\ndata: \{"type":"error",.*\}$/,
  '/v1/responses': /^event: response\.failed\ndata: \{"type":"response\.failed",.*\}$/,
} as const;

/**
 * The last event of a chunked event stream as it came over the wire; empty if the stream did not
 * end properly.
 */
function lastEventOf(wire: string): string {
  const end = /\n\n\r\n0\r\n\r\n$/.exec(wire);
  if (end === null) return '';
  const events = wire.slice(0, end.index).split('\n\n');
  // Each chunk begins with its length.
  return (events.at(-1) ?? '').replace(/^\r\n[0-9a-f]+\r\n/, '');
}
