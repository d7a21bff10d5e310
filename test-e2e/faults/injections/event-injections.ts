import { create, toBinary } from '@bufbuild/protobuf';
import { LedgerOutcome, UsageRecordedSchema } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import { RecordRequestSchema } from '@gateway/proto/usage/v1/usage_service_pb.js';
import type { Injection } from './injection.ts';

const mostRepeated = 300;

/** Recorded events come again, in another order, under ids that the stream doesn't know. */
export const repeatedEvents: Injection = {
  name: 'duplicates and disorder',
  family: 'events',
  async inject({ stream, random, effects }) {
    const { last_seq: last } = await stream.state();
    const messages = await stream.read(last - mostRepeated + 1, last);
    const shuffled = random.shuffled([...messages, ...messages]);
    for (const message of shuffled) await stream.publish(message);
    effects.repeated += shuffled.length;
    return `${shuffled.length} messages published again, shuffled`;
  },
};

/** Messages that can never be recorded, among normal ones. */
export const poisonedEvents: Injection = {
  name: 'poison events',
  family: 'events',
  async inject({ stream, effects }) {
    const poisons = [
      Buffer.from(`{"no":"protobuf ${crypto.randomUUID()}"}`),
      crypto.getRandomValues(new Uint8Array(200)),
      unusable({ localDay: 'yesterday' }),
      unusable({ model: 'with\0nul' }),
      unusable({ inputTokens: -1 }),
      unusable({ outcome: LedgerOutcome.UNSPECIFIED }),
    ];
    for (const poison of poisons) await stream.publish(poison);
    effects.poisons += poisons.length;
    return `${poisons.length} messages that can't be recorded`;
  },
};

function unusable(flaw: {
  localDay?: string;
  model?: string;
  inputTokens?: number;
  outcome?: LedgerOutcome;
}): Uint8Array {
  const event = create(UsageRecordedSchema, {
    requestId: crypto.randomUUID(),
    tokenId: 'poison',
    admittedAtMs: Date.now(),
    localDay: '2026-11-20',
    endpoint: '/v1/messages',
    provider: 'poison',
    model: 'poison',
    inputTokens: 1,
    outcome: LedgerOutcome.COMPLETED,
    ...flaw,
  });
  return toBinary(RecordRequestSchema, create(RecordRequestSchema, { events: [event] }));
}
