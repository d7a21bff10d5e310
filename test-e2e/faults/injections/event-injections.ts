import { create, toBinary } from '@bufbuild/protobuf';
import { RequestEnding, RequestRecordedSchema } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { RecordRequestSchema } from '@gateway/proto/usage/v1/usage_service_pb.js';
import type { Injection } from './injection.ts';

const mostRepeated = 300;
/** A later release may have it. */
const unknownEnding = 99 as RequestEnding;

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
      unusable({ ending: unknownEnding }),
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
  ending?: RequestEnding;
}): Uint8Array {
  const { localDay = '2026-11-20', model = 'poison', inputTokens = 1, ending = RequestEnding.COMPLETED } = flaw;
  const request = create(RequestRecordedSchema, {
    requestId: crypto.randomUUID(),
    tokenId: 'poison',
    admittedAtMs: Date.now(),
    localDay,
    endpoint: '/v1/messages',
    ending,
    attempts: [{ provider: 'poison', model, usage: { inputTokens } }],
  });
  return toBinary(RecordRequestSchema, create(RecordRequestSchema, { requests: [request] }));
}
