import type { ServerSentEvent } from '../target/gateway-client.ts';
import { Found } from './found.ts';

/** The JSON of events, each named by its number in the stream. */
export function foundIn(events: readonly ServerSentEvent[], what: string): readonly Found[] {
  return events.map((event, index) => new Found(event.json(), `${what} ${index + 1}`));
}
