import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { create } from '@bufbuild/protobuf';
import {
  RequestEnding,
  type RequestRecorded,
  RequestRecordedSchema,
} from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { toUsageMessages, usageStreamNames } from '@gateway/usage-stream';
import { connect } from 'nats';
import { Client } from 'pg';
import type { ServicesSystem } from '../systems/services.ts';
import type { ServiceFigures } from './limiter-checks.ts';
import { microsecondsBetween, readProcessorTimes } from './processor-time.ts';

/** An edge sends its events in messages of a few. */
const eventsPerMessage = 20;
/**
 * Enough events that storing them takes longer than the redelivery of messages that reached the
 * frozen process.
 */
const eventCount = 120_000;
const longestMs = 60_000;

/**
 * How fast usage-ingest writes a backlog into Postgres. It is frozen while the events are
 * published. The time runs from its thawing until every message is acknowledged, which comes after
 * the commit.
 */
export async function measureIngest(services: ServicesSystem): Promise<ServiceFigures> {
  const connection = await connect({ servers: services.natsUrl });
  try {
    const manager = await connection.jetstreamManager();
    const pending = async () => {
      const info = await manager.consumers.info(usageStreamNames.stream, usageStreamNames.consumer);
      return info.num_pending + info.num_ack_pending;
    };
    await until(async () => (await pending()) === 0);
    const marker = randomUUID();
    await services.pauseIngest();
    try {
      const events = Array.from({ length: eventCount }, (_, index) => usageEvent(marker, index));
      for (let start = 0; start < events.length; start += 5_000) {
        await Promise.all(
          messagesOf(events.slice(start, start + 5_000)).map(({ id, data }) =>
            connection.jetstream().publish(usageStreamNames.subject, data, { msgID: id }),
          ),
        );
      }
    } finally {
      await services.resumeIngest();
    }
    const watched = services.processes.filter(({ name }) => ['usage-ingest', 'nats', 'postgres'].includes(name));
    const before = { atMs: performance.now(), times: readProcessorTimes(watched) };
    await until(async () => (await pending()) === 0);
    const elapsedMs = performance.now() - before.atMs;
    const micros = microsecondsBetween(before.times, readProcessorTimes(watched));
    const stored = await storedEvents(services.postgresUrl, marker);
    if (stored !== eventCount) throw new Error(`usage-ingest stored ${stored} of ${eventCount} events.`);
    return {
      perSecond: (eventCount / elapsedMs) * 1_000,
      microsEach: Object.fromEntries(Object.entries(micros).map(([name, value]) => [name, value / eventCount])),
    };
  } finally {
    await connection.close();
  }
}

function messagesOf(requests: readonly RequestRecorded[]) {
  const messages = [];
  for (let start = 0; start < requests.length; start += eventsPerMessage) {
    messages.push(...toUsageMessages(requests.slice(start, start + eventsPerMessage)));
  }
  return messages;
}

function usageEvent(marker: string, index: number): RequestRecorded {
  const nowMs = Date.now();
  const time = nowMs.toString(16).padStart(12, '0');
  const random = randomUUID();
  return create(RequestRecordedSchema, {
    requestId: `${time.slice(0, 8)}-${time.slice(8)}-7${random.slice(15)}`,
    tokenId: `bench-${marker}-${index % 100}`,
    admittedAtMs: nowMs,
    localDay: new Intl.DateTimeFormat('sv-SE', { timeZone: 'Europe/Amsterdam' }).format(nowMs),
    endpoint: '/v1/chat/completions',
    ending: RequestEnding.COMPLETED,
    attempts: [
      {
        provider: 'provider_a',
        model: `gpt-bench-${index % 10}`,
        accountId: `responses/team-${index % 3}`,
        usage: { inputTokens: 1_000 + (index % 9_000), outputTokens: 100 + (index % 900) },
      },
    ],
  });
}

async function storedEvents(url: string, marker: string): Promise<number> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<{ count: string }>(
      'select count(*) as count from usage_events where token_id like $1',
      [`bench-${marker}-%`],
    );
    return Number(rows[0]?.count);
  } finally {
    await client.end();
  }
}

async function until(isReached: () => Promise<boolean>): Promise<void> {
  const giveUpAtMs = performance.now() + longestMs;
  while (!(await isReached())) {
    if (performance.now() > giveUpAtMs) throw new Error(`usage-ingest has not finished after ${longestMs} ms.`);
    await sleep(20);
  }
}
