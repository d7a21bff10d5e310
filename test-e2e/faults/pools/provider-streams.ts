import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { RequestKind } from '../load/request-kinds.ts';
import { expectEstimates, expectOneErrorAtItsEnd } from './expectations.ts';
import { accountsOf } from './gateway-file.ts';
import { chatStream, messagesStream, responsesStream } from './kinds.ts';
import { type AskedExchange, idleTimeoutMs, type PoolScene } from './pool-scene.ts';
import { expectItIsBack, faulty } from './provider-refusals.ts';

/** A stream of each endpoint, with the accounts that carry it. */
const streams: readonly { readonly kind: RequestKind; readonly accounts: readonly string[] }[] = [
  { kind: chatStream('stalling'), accounts: accountsOf('stalling') },
  { kind: messagesStream('odd'), accounts: accountsOf('odd') },
  { kind: responsesStream('gpt-breaking'), accounts: accountsOf('gpt-breaking') },
];

/** After the first content, and well before the end. */
const afterEvents = 40;

const MiB = 1024 * 1024;

/** Answers that come late, break off, stall, or are invalid. */
export function providerStreams(scene: () => PoolScene): void {
  describe('an answer that is reset in the middle', () => {
    it('ends with one error event, is not retried elsewhere, and the usage is recorded', async () => {
      const asked = await askAllWith(scene(), { kind: 'reset', afterEvents });
      for (const { exchange, marker } of asked) {
        expectOneErrorAtItsEnd(await exchange.ended);
        expect(scene().attemptsOf(marker)).toHaveLength(1);
      }
      await expectEstimates(scene(), asked);
    });
  });

  describe('an answer that stalls in the middle', () => {
    it('has heartbeats, then one error event when its provider has been silent for too long, who is cut off', async () => {
      const asked = await askAllWith(scene(), { kind: 'stall', afterEvents });
      for (const { exchange, marker } of asked) {
        expectOneErrorAtItsEnd(await exchange.ended);
        const silentMs = exchange.endedMs - exchange.startedMs;
        expect(silentMs).toBeGreaterThan(idleTimeoutMs);
        expect(silentMs).toBeLessThan(3 * idleTimeoutMs);
        await expect
          .poll(() =>
            scene()
              .attemptsOf(marker)
              .map(({ outcome }) => outcome),
          )
          .toEqual(['cancelled']);
      }
      expect(asked[0]?.exchange.heartbeats).toBeGreaterThan(1);
      expect(asked[2]?.exchange.heartbeats).toBeGreaterThan(1);
      await expectEstimates(scene(), asked);
    });
  });

  describe('an answer whose status or first event comes late', () => {
    it.each([
      ['its status', { kind: 'delay', beforeHeadersMs: idleTimeoutMs + 1_000 }, null],
      ['its first event', { kind: 'delay', beforeFirstEventMs: idleTimeoutMs + 1_000 }, 200],
    ] as const)('is waited for without a promise to the client: %s', async (_what, fault, statusMeanwhile) => {
      const late = faulty(scene(), 'late', fault);
      const { exchange, marker } = await scene().ask({ kind: chatStream('late') });
      await expect
        .poll(() =>
          scene()
            .attemptsOf(marker)
            .map(({ status }) => status),
        )
        .toEqual([statusMeanwhile]);
      // It may still become an error, or another account's answer.
      expect(exchange.status).toBeUndefined();
      expect((await exchange.ended).ending).toBe('whole');
      late[Symbol.dispose]();
    });
  });

  describe('an answer with a line that does not end', () => {
    it('ends with one error event, and costs an adapter no more memory than events may have', async () => {
      const endless = faulty(scene(), 'endless', { kind: 'endless_line', afterEvents });
      const before = await residentBytes(scene());
      const asked = await Promise.all(
        [chatStream('endless'), messagesStream('endless')].map((kind) => scene().ask({ kind, length: 60 })),
      );
      for (const { exchange, marker } of asked) {
        const { asked: seen } = await exchange.ended;
        expect([seen.view, seen.status]).toEqual(['cut', 200]);
        expect(exchange.text).not.toMatch(/\[DONE\]|"message_stop"/);
        expect(exchange.text.match(/"error":\{/g)).toHaveLength(1);
        expect(exchange.text.length).toBeLessThan(16 * MiB);
        await expect
          .poll(() =>
            scene()
              .attemptsOf(marker)
              .map(({ outcome }) => outcome),
          )
          .toEqual(['cancelled']);
      }
      endless[Symbol.dispose]();
      const grownMiB = ((await residentBytes(scene())) - before) / MiB;
      process.stdout.write(`endless lines: the adapter has grown by ${grownMiB.toFixed(0)} MiB\n`);
      // Two events of 4 MiB at most; the rest is memory that the runtime keeps after freeing it.
      expect(grownMiB).toBeLessThan(64);
    });
  });

  describe('an answer in unusual bytes', () => {
    it.each([
      ['lines that end with CR', (text: string) => text.replaceAll('\n', '\r')],
      ['lines that end with CR and LF', (text: string) => text.replaceAll('\n', '\r\n')],
      ['a byte order mark', (text: string) => `\ufeff${text}`],
    ])('is relayed byte for byte on Messages, and read right for chat: %s', async (_what, change) => {
      const stream = change(messagesText('Grüße 🌍 日本', [{ output_tokens: 7 }]));
      const headers = { 'content-type': 'text/event-stream' };
      const odd = faulty(scene(), 'odd', { kind: 'status', status: 200, headers, body: stream });
      const relayed = await scene().askToEnd({ kind: messagesStream('odd'), isAudited: false });
      const chat = await scene().askToEnd({ kind: chatStream('odd'), isAudited: false });
      odd[Symbol.dispose]();
      expect(relayed.exchange.text).toBe(stream);
      expect(contentOf(chat)).toBe('Grüße 🌍 日本');
      for (const { token } of [relayed, chat]) {
        await expect
          .poll(async () =>
            (await scene().rowsOf(token)).map(({ outputTokens, estimated }) => [outputTokens, estimated]),
          )
          .toEqual([[7, false]]);
      }
    });

    it('that cannot be read in the middle is an error event in place of the rest', async () => {
      const broken = faulty(scene(), 'odd', { kind: 'broken_json', afterEvents: 8 });
      const { exchange } = await scene().askToEnd({ kind: chatStream('odd'), length: 20, isAudited: false });
      broken[Symbol.dispose]();
      expect(exchange.text).not.toContain('[DONE]');
      expectOneErrorAtItsEnd(exchange);
      await expectItIsBack(scene(), chatStream('odd'));
    });
  });

  describe('the usage of an answer', () => {
    it('that is reported again and again is the last report', async () => {
      const headers = { 'content-type': 'text/event-stream' };
      const body = messagesText('again', [{ output_tokens: 3 }, { output_tokens: 9 }, { output_tokens: 9 }]);
      const odd = faulty(scene(), 'odd', { kind: 'status', status: 200, headers, body });
      const asked = await Promise.all(
        [messagesStream('odd'), chatStream('odd')].map((kind) => scene().askToEnd({ kind, isAudited: false })),
      );
      odd[Symbol.dispose]();
      for (const { token } of asked) {
        await expect
          .poll(async () =>
            (await scene().rowsOf(token)).map(({ inputTokens, outputTokens }) => [inputTokens, outputTokens]),
          )
          .toEqual([[11, 9]]);
      }
    });

    it.each(['silent', 'mute'] as const)(
      'that is not reported is an estimate that says so: pool "%s"',
      async (pool) => {
        const missing = faulty(scene(), pool, { kind: 'usage_missing' });
        const { exchange, token } = await scene().askToEnd({ kind: chatStream(pool), length: 10, isAudited: false });
        missing[Symbol.dispose]();
        expect(exchange.ending).toBe('whole');
        await expect.poll(() => scene().rowsOf(token)).toHaveLength(1);
        const [row] = await scene().rowsOf(token);
        expect(row).toMatchObject({ estimated: true, outcome: 'completed' });
        expect(row?.outputTokens).toBeGreaterThan(0);
      },
    );
  });
}

/** A long answer on every endpoint, each with one injection. */
async function askAllWith(
  scene: PoolScene,
  fault: { readonly kind: 'reset' | 'stall'; readonly afterEvents: number },
): Promise<readonly AskedExchange[]> {
  const ids = streams.flatMap(({ accounts }) =>
    accounts.map((account) => scene.simulator.faults.add({ account, fault })),
  );
  const asked = await Promise.all(streams.map(({ kind }) => scene.ask({ kind, length: 60 })));
  await Promise.all(asked.map(({ exchange }) => exchange.ended));
  for (const id of ids) scene.simulator.faults.clear(id);
  return asked;
}

/** The stream of a Messages provider that reports usage this often. */
function messagesText(text: string, usages: readonly { readonly output_tokens: number }[]): string {
  const message = { id: 'msg_odd', type: 'message', role: 'assistant', model: 'claude-sonnet-5', content: [] };
  const events = [
    { type: 'message_start', message: { ...message, usage: { input_tokens: 11, output_tokens: 1 } } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } },
    { type: 'content_block_stop', index: 0 },
    ...usages.map((usage) => ({
      type: 'message_delta',
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage,
    })),
    { type: 'message_stop' },
  ];
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
}

interface Chunk {
  readonly choices?: readonly { readonly delta?: { readonly content?: string } }[];
}

function contentOf({ exchange }: AskedExchange): string {
  return exchange.events.map((event) => (event as Chunk).choices?.[0]?.delta?.content ?? '').join('');
}

/** Memory of the adapter that serves Messages at the first edge. */
async function residentBytes(scene: PoolScene): Promise<number> {
  const { pid } = scene.replica('messages-adapter', 0);
  const { stdout } = await run('ps', ['-o', 'rss=', '-p', String(pid)]);
  return Number(stdout) * 1024;
}

const run = promisify(execFile);
