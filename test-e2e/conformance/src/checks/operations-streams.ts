import { setTimeout } from 'node:timers/promises';
import type { Scene } from '../check.ts';
import type { Script } from '../double/script.ts';
import { ask, converse, doubleOf, type Format, openStream, type ReplyEndpoint } from '../formats/format.ts';
import type { ServerSentEvent } from '../target/streamed-answer.ts';
import { must } from '../verdict.ts';
import { untilServed } from './good-requests.ts';
import { type Rule, rulesOfEachFormat } from './rules.ts';
import { sources } from './sources.ts';

const words = Array.from({ length: 60 }, (_, word) => `word${word}`).join(' ');
const text = { kind: 'text', text: words } as const;
const few = { kind: 'text', text: 'one two three four' } as const;

const hangUps = 'https://www.rfc-editor.org/rfc/rfc9110#section-9.3.3';
const hangUpMs = 5_000;

/** Answers that come late, slowly, in part or not at all, and clients that hang up. */
export const operationsStreams = rulesOfEachFormat((format, endpoint): readonly Rule[] => [
  comesWhole(format, 'late-first-byte', 'An answer whose first byte arrives after seconds', {
    firstByteAfterMs: 4_000,
  }),
  comesWhole(format, 'slow-stream', 'A stream with half a second between events', { eventEveryMs: 500 }),
  {
    name: `${endpoint}-silent-stream-is-not-whole`,
    rule: 'If the provider falls silent mid-stream, the stream does not end as a complete answer.',
    source: sources.stream[endpoint],
    needs: ['double'],
    async run(scene) {
      using scripted = doubleOf(scene).script({ parts: [text], fault: { kind: 'silent-after-events', events: 12 } });
      const stream = await openStream(scene, format, { text: scripted.marker });
      const listening = setTimeout(3_000, undefined, { signal: scene.signal }).finally(() => stream.hangUp());
      const [{ events }] = await Promise.all([stream.all(), listening]);
      must(!events.some((event) => isGoodEnd[endpoint](event)), 'the stream should not end as if it were complete');
    },
  },
  {
    name: `${endpoint}-no-second-answer-in-a-stream`,
    rule: 'After part of an answer was sent, no other answer follows in the same stream.',
    source: sources.stream[endpoint],
    needs: ['double'],
    alone: true,
    async run(scene) {
      await untilServed(scene, endpoint);
      const fault = { kind: 'cut-after-events', events: 12 } as const;
      using scripted = doubleOf(scene).script({ parts: [text], fault, faultForFirst: 1 });
      const stream = await openStream(scene, format, { text: scripted.marker });
      const { events } = await stream.all();
      const first = events.filter(({ data }) => data.includes('word1"') || data.includes('word1 "'));
      must(first.length <= 1, `the second word should come at most once; it comes ${first.length} times`);
      must(!events.some((event) => isGoodEnd[endpoint](event)), 'the stream should not end as if it were complete');
    },
  },
  {
    name: `${endpoint}-hang-up-reaches-the-provider`,
    rule: 'If a client disconnects mid-stream, the gateway cancels its request to the provider within seconds.',
    source: hangUps,
    needs: ['double'],
    async run(scene) {
      using scripted = doubleOf(scene).script({ parts: [text], eventEveryMs: 250 });
      const stream = await openStream(scene, format, { text: scripted.marker });
      for await (const { data } of stream.events()) if (data.includes('word')) break;
      await mustHangUp(scene, scripted.received[0]?.outcome);
    },
  },
  {
    name: `${endpoint}-hang-up-before-the-answer`,
    rule: 'If a client disconnects before the answer begins, the gateway cancels its request to the provider within seconds.',
    source: hangUps,
    needs: ['double'],
    async run(scene) {
      using scripted = doubleOf(scene).script({ firstByteAfterMs: 15_000 });
      const leaving = new AbortController();
      const asked = ask(scene, format, { text: scripted.marker }, { signal: leaving.signal }).catch(() => {});
      await scripted.came(1, scene.signal);
      leaving.abort();
      await asked;
      await mustHangUp(scene, scripted.received[0]?.outcome);
    },
  },
  {
    name: `${endpoint}-cut-answer-is-an-error`,
    rule: 'An incomplete answer from the provider is not forwarded as a complete one.',
    source: sources.sdkErrors[endpoint],
    needs: ['double'],
    alone: true,
    async run(scene) {
      await untilServed(scene, endpoint);
      const fault = { kind: 'cut-after-events', events: 12 } as const;
      using scripted = doubleOf(scene).script({ parts: [text], fault });
      const body = { ...format.request(scene.modelOf(endpoint), { text: scripted.marker }), stream: false };
      const answer = await scene.gateway.stream(endpoint, { body });
      const { events, end } = await answer.all();
      const isWhole = answer.status === 200 && end === 'whole' && events.length === 0;
      must(!isWhole, 'the answer should be an error, or the connection should close; it is a complete answer with 200');
      must(!events.some((event) => isGoodEnd[endpoint](event)), 'the stream should not end as if it were complete');
    },
  },
]);

/** The event that only a complete answer ends with. */
const isGoodEnd: Readonly<Record<ReplyEndpoint, (event: ServerSentEvent) => boolean>> = {
  chat: ({ data }) => data === '[DONE]' || /"finish_reason":\s*"/.test(data),
  messages: ({ event }) => event === 'message_stop',
  responses: ({ data }) => /"type":\s*"response\.completed"/.test(data),
};

function comesWhole(format: Format, name: string, what: string, script: Script): Rule {
  return {
    name: `${format.endpoint}-${name}`,
    rule: `${what} reaches the client completely.`,
    source: sources.stream[format.endpoint],
    needs: ['double'],
    async run(scene) {
      using scripted = doubleOf(scene).script({ parts: [few], ...script });
      const reply = await converse(scene, format, 'stream', { text: scripted.marker });
      must(reply.text === few.text, `the text should be "${few.text}"; it is "${reply.text}"`);
    },
  };
}

async function mustHangUp(scene: Scene, outcome: Promise<'sent' | 'hung-up'> | undefined): Promise<void> {
  must(outcome !== undefined, 'the request should reach the provider; it did not');
  const tooLate = setTimeout(hangUpMs, 'running' as const, { signal: scene.signal }).catch(() => 'running' as const);
  const seen = await Promise.race([outcome, tooLate]);
  must(seen === 'hung-up', `after ${hangUpMs / 1_000} s the request to the provider should have ended; it is ${seen}`);
}
