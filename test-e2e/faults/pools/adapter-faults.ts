import { roomMs } from '@gateway/testkit/room';
import { describe, expect, it } from 'vitest';
import type { RequestKind } from '../load/request-kinds.ts';
import { expectEstimates, expectOneErrorAtItsEnd, unavailable } from './expectations.ts';
import { accountsOf } from './gateway-file.ts';
import { chatStream, messagesStream, messagesWhole, responsesStream } from './kinds.ts';
import { type AskedExchange, idleTimeoutMs, type PoolScene } from './pool-scene.ts';

/** Callers notice a suspended service within three times this time. */
const heartbeatMs = 5_000;

/** Streams of every endpoint, over both kinds of adapters. */
const streams: readonly RequestKind[] = [chatStream('first'), messagesStream('second'), responsesStream('gpt-first')];

const adapters = ['responses-adapter', 'messages-adapter'] as const;

/** Adapters that die or hang, before the first byte of an answer and in the middle of one. */
export function adapterFaults(scene: () => PoolScene): void {
  describe('an adapter that dies before the first byte of an answer', () => {
    it('is replaced by the next candidate: the client sees one answer, and the ledger has one row', async () => {
      const { exchange, marker, token } = await untilAsked(scene(), chatStream('either'), accountsOf('first'));
      await scene().replica('responses-adapter', 0).kill();
      expect((await exchange.ended).ending).toBe('whole');
      expect(
        scene()
          .attemptsOf(marker)
          .map(({ model }) => model),
      ).toEqual(['gpt-5.5', 'claude-sonnet-5']);
      expect(exchange.headers['x-gateway-provider']).toBe('provider_b');
      await expect
        .poll(async () => (await scene().rowsOf(token)).map(({ model, estimated }) => ({ model, estimated })))
        .toEqual([{ model: 'claude-sonnet-5', estimated: false }]);
      await startAgain(scene());
    });

    it('is a 503 in the shape of an endpoint that speaks one format only, and costs nothing', async () => {
      const messages = await untilAsked(scene(), messagesWhole('second'), accountsOf('second'));
      const responses = await untilAsked(scene(), responsesStream('gpt-first'), accountsOf('gpt-first'));
      await Promise.all(adapters.map((adapter) => scene().replica(adapter, 0).kill()));
      await Promise.all([messages.exchange.ended, responses.exchange.ended]);
      expect([messages.exchange.status, messages.exchange.json]).toEqual([503, unavailable.messages]);
      expect([responses.exchange.status, responses.exchange.json]).toEqual([503, unavailable.chat]);
      await startAgain(scene());
      expect([await scene().rowsOf(messages.token), await scene().rowsOf(responses.token)]).toEqual([[], []]);
    });
  });

  describe('an adapter that dies in the middle of answers', () => {
    it('ends each with one error event, long before its timeout, and the usage is recorded', async () => {
      const asked = await untilStreaming(scene(), 0);
      const killedMs = Date.now();
      await Promise.all(adapters.map((adapter) => scene().replica(adapter, 0).kill()));
      for (const { exchange } of asked) expectOneErrorAtItsEnd(await exchange.ended);
      const tookMs = asked.map(({ exchange }) => exchange.endedMs - killedMs);
      process.stdout.write(`adapters killed: error events after ${tookMs.join(', ')} ms\n`);
      for (const each of tookMs) expect(each).toBeLessThan(idleTimeoutMs);
      await expectEstimates(scene(), asked);
      await startAgain(scene());
    });
  });

  describe('an adapter that hangs in the middle of answers', () => {
    it('leaves heartbeats, and then one error event after the timeout; the usage is recorded', async () => {
      const asked = await untilStreaming(scene(), 1);
      const before = asked.map(({ exchange }) => exchange.heartbeats);
      const pausedMs = Date.now();
      const frozen = adapters.map((adapter) => scene().replica(adapter, 1));
      await Promise.all(frozen.map((adapter) => adapter.pause()));
      try {
        for (const { exchange } of asked) expectOneErrorAtItsEnd(await exchange.ended);
      } finally {
        await Promise.all(frozen.map((adapter) => adapter.resume()));
      }
      const tookMs = asked.map(({ exchange }) => exchange.endedMs - pausedMs);
      process.stdout.write(`adapters frozen: error events after ${tookMs.join(', ')} ms\n`);
      for (const each of tookMs) expect(each).toBeLessThan(roomMs(3 * heartbeatMs) + idleTimeoutMs);
      const beats = asked.map(({ exchange }, index) => exchange.heartbeats - (before[index] ?? 0));
      // The Messages stream is relayed as sent: its heartbeats are the provider's own.
      expect(beats[0]).toBeGreaterThan(1);
      expect(beats[2]).toBeGreaterThan(1);
      await expectEstimates(scene(), asked);
      await scene().answersAgain(1);
    });
  });
}

/**
 * Sends a request to the first edge, and resolves when an account has the request and delays its
 * answer.
 */
async function untilAsked(scene: PoolScene, kind: RequestKind, accounts: readonly string[]): Promise<AskedExchange> {
  const faults = accounts.map((account) => scene.simulator.faults.add({ account, times: 1, fault: { kind: 'stall' } }));
  const asked = await scene.ask({ kind });
  await expect.poll(() => scene.attemptsOf(asked.marker).length).toBe(1);
  for (const fault of faults) scene.simulator.faults.clear(fault);
  return asked;
}

/** Starts a long answer on every endpoint of an edge; each has begun when this resolves. */
async function untilStreaming(scene: PoolScene, edge: number): Promise<readonly AskedExchange[]> {
  const asked = await Promise.all(streams.map((kind) => scene.ask({ kind, edge, length: 400 })));
  for (const { exchange } of asked) {
    await expect.poll(() => exchange.events.length).toBeGreaterThan(10);
  }
  return asked;
}

async function startAgain(scene: PoolScene): Promise<void> {
  await Promise.all(adapters.map((adapter) => scene.replica(adapter, 0).restart()));
  await scene.answersAgain(0);
}
