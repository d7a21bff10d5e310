import type { ReplyEndpoint } from '../formats/format.ts';
import { Found } from '../formats/found.ts';
import type { ServerSentEvent } from '../target/streamed-answer.ts';

/** Whether a client takes the answer for complete. */
export function endsAsComplete(endpoint: ReplyEndpoint, events: readonly ServerSentEvent[]): boolean {
  if (events.some((event) => isGoodEnd[endpoint](event))) return true;
  // A chat client may do without a finish_reason where nothing was wrong.
  return endpoint === 'chat' && events.some(isDone) && !events.some((event) => errorEvents.chat.is(event));
}

interface ErrorEvent {
  readonly rule: string;
  is(event: ServerSentEvent): boolean;
  judge(event: ServerSentEvent): void;
}

/** How a stream of each format says that it failed. */
export const errorEvents: Readonly<Record<ReplyEndpoint, ErrorEvent>> = {
  chat: {
    rule: '`data: {"error": {"message": …}}`',
    is: (event) => event.event === 'error' || read(event).at('error').isThere,
    judge: (event) => void read(event).at('error', 'message').name,
  },
  messages: {
    rule: '`event: error` with `{"type": "error", "error": {"type": …, "message": …}}`',
    is: (event) => event.event === 'error',
    judge(event) {
      read(event).at('type').is('error');
      void read(event).at('error', 'type').name;
      void read(event).at('error', 'message').name;
    },
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
  },
};

/** The event stands only at the end of a complete answer. */
const isGoodEnd: Readonly<Record<ReplyEndpoint, (event: ServerSentEvent) => boolean>> = {
  chat: (event) => read(event).at('choices', 0, 'finish_reason').isThere,
  messages: ({ event }) => event === 'message_stop',
  responses: (event) => read(event).at('type').value === 'response.completed',
};

const isDone = ({ data }: ServerSentEvent) => data === '[DONE]';
const read = (event: ServerSentEvent) => new Found(isDone(event) ? {} : event.json(), 'event');
