import { setTimeout as sleep } from 'node:timers/promises';
import type { FaultScene, Injection } from './injection.ts';
import { eventsIn } from './usage-stream-tap.ts';

/** The stream accepts no messages for a while: edges keep theirs. */
export function fullStream(durationMs: number): Injection {
  return {
    name: 'stream full',
    family: 'stream',
    async inject({ stream }) {
      await stream.limitTo(3);
      await sleep(durationMs);
      await stream.limitTo(undefined);
      return `nothing taken for ${durationMs} ms`;
    },
  };
}

/**
 * The content of the stream is lost while no ingest runs. This is the one unavoidable loss: the
 * stream had acknowledged it. Each lost event is recorded.
 */
export function purgedStream(durationMs: number): Injection {
  return {
    name: 'stream purged',
    family: 'stream',
    async inject(field) {
      const ingests = field.gateway.replicas['usage-ingest'];
      await Promise.all(ingests.map((ingest) => ingest.pause()));
      await sleep(durationMs);
      const { last_seq: last } = await field.stream.state();
      const events = await noteUningested(field, last);
      await field.stream.purgeTo(last);
      await Promise.all(ingests.map((ingest) => ingest.resume()));
      return `purged; ${events} events in it were not in the ledger`;
    },
  };
}

/** Stream and consumer are lost, as with the server's disk. */
export function deletedStream(durationMs: number): Injection {
  return {
    name: 'stream deleted',
    family: 'stream',
    async inject(field) {
      await field.stream.limitTo(0);
      await sleep(durationMs);
      const { last_seq: last } = await field.stream.state();
      const events = await noteUningested(field, last);
      await field.stream.delete();
      const madeAgainMs = await timeUntil(() => field.stream.consumerInfo(), 60_000);
      return `deleted; ${events} events in it were not in the ledger; made again after ${madeAgainMs} ms`;
    },
  };
}

/** Records the events that are about to be lost and that the ledger does not have. */
async function noteUningested({ stream, ledger, effects }: FaultScene, last: number): Promise<number> {
  const { ack_floor: floor } = await stream.consumerInfo();
  const messages = await stream.read(floor.stream_seq + 1, last);
  const stored = new Set((await ledger.rows()).map(({ requestId }) => requestId));
  const events = messages.flatMap((message) => eventsIn(message)).filter(({ requestId }) => !stored.has(requestId));
  for (const event of events) effects.wiped.set(event.requestId, event);
  return events.length;
}

async function timeUntil(succeeds: () => Promise<unknown>, timeoutMs: number): Promise<number> {
  const startMs = Date.now();
  while (Date.now() - startMs < timeoutMs) {
    const succeeded = await succeeds().then(
      () => true,
      () => false,
    );
    if (succeeded) return Date.now() - startMs;
    await sleep(200);
  }
  throw new Error(`not within ${timeoutMs} ms`);
}
