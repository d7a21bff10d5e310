import type { Scene } from '../check.ts';
import type { Fault } from '../double/script.ts';
import { ask, askStream, doubleOf, type Format, openStream, type ReplyEndpoint } from '../formats/format.ts';
import { Found } from '../formats/found.ts';
import type { ServerSentEvent } from '../target/streamed-answer.ts';
import { must, NotApplicable } from '../verdict.ts';
import { mustHaveErrorShape } from './errors.ts';
import { untilServed } from './good-requests.ts';
import { type Rule, rulesOfEachFormat } from './rules.ts';
import { sources } from './sources.ts';

const text = Array.from({ length: 40 }, (_, word) => `word${word}`).join(' ');

interface ErrorEvent {
  readonly rule: string;
  is(event: ServerSentEvent): boolean;
  judge(event: ServerSentEvent): void;
  /** The event that only a complete answer ends with. */
  isGoodEnd(event: ServerSentEvent): boolean;
}

const read = (event: ServerSentEvent) => new Found(event.data === '[DONE]' ? {} : event.json(), 'event');

const errorEvents: Readonly<Record<ReplyEndpoint, ErrorEvent>> = {
  chat: {
    rule: '`data: {"error": {"message": …}}`',
    is: (event) => event.event === 'error' || read(event).at('error').isThere,
    judge: (event) => void read(event).at('error', 'message').name,
    isGoodEnd: (event) => read(event).at('choices', 0, 'finish_reason').isThere,
  },
  messages: {
    rule: '`event: error` with `{"type": "error", "error": {"type": …, "message": …}}`',
    is: (event) => event.event === 'error',
    judge(event) {
      read(event).at('type').is('error');
      void read(event).at('error', 'type').name;
      void read(event).at('error', 'message').name;
    },
    isGoodEnd: ({ event }) => event === 'message_stop',
  },
  responses: {
    rule: '`response.failed` with an error in its response, or `error` with a message',
    is: (event) => ['error', 'response.failed'].includes(String(read(event).at('type').value)),
    judge(event) {
      const found = read(event);
      if (found.at('type').value === 'response.failed') {
        found.at('response', 'status').is('failed');
        void found.at('response', 'error', 'message').name;
      } else void (found.at('error').isThere ? found.at('error') : found).at('message').name;
    },
    isGoodEnd: (event) => read(event).at('type').value === 'response.completed',
  },
};

/** How clients see a provider that fails. */
export const streamFailures = rulesOfEachFormat((format, endpoint): readonly Rule[] => [
  {
    name: `${endpoint}-stream-shows-the-providers-error`,
    rule: 'If the provider reports an error mid-stream, the stream has an error event or closes; it does not end as a complete answer.',
    source: sources.sdkStream[endpoint],
    needs: ['double'],
    alone: true,
    run: (scene) => mustShowFailure(scene, format, { kind: 'error-event-after', events: 12, message: 'Overloaded.' }),
  },
  {
    name: `${endpoint}-stream-shows-a-cut`,
    rule: 'If the provider disconnects mid-stream, the stream has an error event or closes; it does not end as a complete answer.',
    source: sources.sdkStream[endpoint],
    needs: ['double'],
    alone: true,
    run: (scene) => mustShowFailure(scene, format, { kind: 'cut-after-events', events: 12 }),
  },
  {
    name: `${endpoint}-stream-error-event`,
    rule: `An error in a stream is ${errorEvents[endpoint].rule}.`,
    source: sources.sdkStream[endpoint],
    needs: ['double'],
    alone: true,
    async run(scene) {
      const fault: Fault = { kind: 'error-event-after', events: 12, message: 'Overloaded.' };
      const { events } = await failed(scene, format, fault);
      const error = events.find((event) => errorEvents[endpoint].is(event));
      if (error === undefined)
        throw new NotApplicable('the gateway closes the stream, or rejects the request before it');
      errorEvents[endpoint].judge(error);
    },
  },
  {
    name: `${endpoint}-stream-is-not-held-back`,
    rule: 'The client receives each part of an answer while the provider is still sending.',
    source: sources.stream[endpoint],
    needs: ['double'],
    async run(scene) {
      const fault: Fault = { kind: 'silent-after-events', events: 16 };
      using scripted = doubleOf(scene).script({ parts: [{ kind: 'text', text }], fault });
      const stream = await openStream(scene, format, { text: scripted.marker });
      // Ends with the scene's signal if nothing comes.
      for await (const { data } of stream.events()) if (data.includes('word1')) break;
    },
  },
  {
    name: `${endpoint}-provider-refusal-is-an-error`,
    rule: 'If the provider rejects a request, the client gets an error with the error object of the format.',
    source: sources.sdkErrors[endpoint],
    needs: ['double'],
    async run(scene) {
      const fault: Fault = { kind: 'refuse', status: 400, message: 'This can not be answered.' };
      using scripted = doubleOf(scene).script({ fault });
      const answer = await ask(scene, format, { text: scripted.marker });
      must(answer.status >= 400, `the status should be 400 or more; it is ${answer.status}`);
      mustHaveErrorShape(endpoint, answer);
    },
  },
]);

async function mustShowFailure(scene: Scene, format: Format, fault: Fault): Promise<void> {
  const { events, isRefused, end } = await failed(scene, format, fault);
  const { is, isGoodEnd } = errorEvents[format.endpoint];
  must(!events.some(isGoodEnd), 'the stream should not end as a complete answer; it does');
  must(
    isRefused || end === 'cut' || events.some(is),
    'the stream should have an error event or close early; it ends normally',
  );
}

/**
 * The stream of an answer in which the provider fails after some of its text. A gateway may notice
 * before it answers.
 */
async function failed(scene: Scene, format: Format, fault: Fault) {
  await untilServed(scene, format.endpoint);
  using scripted = doubleOf(scene).script({ parts: [{ kind: 'text', text }], fault, eventEveryMs: 5 });
  const stream = await askStream(scene, format, { text: scripted.marker });
  return { ...(await stream.all()), isRefused: stream.status >= 400 };
}
