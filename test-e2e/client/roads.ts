import type { Road } from '../topologies/failing-accounts.ts';
import type { Topology } from '../topologies/topology.ts';
import { type ChatAnswer, chat } from './chat.ts';
import { countBody, messagesBody, relay, responsesBody } from './relay.ts';

export interface RoadRequest {
  readonly road: Road | 'count-tokens';
  readonly model: string;
  readonly text?: string;
  readonly session?: string;
  /** For a Messages request. */
  readonly beta?: string;
}

/** Requests an answer, streamed if possible, and reads all of it. */
export function ask(
  gateway: Topology,
  token: string,
  { road, model, text = 'hello', session, beta }: RoadRequest,
): Promise<ChatAnswer> {
  const headers: Record<string, string> = {
    ...(session !== undefined && { 'session-id': session }),
    ...(beta !== undefined && { 'anthropic-beta': beta }),
  };
  switch (road) {
    case 'responses':
      return relay(gateway, token, { path: '/v1/responses', body: responsesBody(model, text), headers });
    case 'messages':
      return relay(gateway, token, {
        path: '/v1/messages',
        body: messagesBody(model, text, { stream: true }),
        headers,
      });
    case 'count-tokens':
      return relay(gateway, token, { path: '/v1/messages/count_tokens', body: countBody(model, text), headers });
    default: {
      const messages = [{ role: 'user', content: text }];
      return chat(gateway, token, { model, messages, stream: true }, { headers });
    }
  }
}

/** The simulator's path for requests of an endpoint. */
export function providerPathOf(road: Road | 'count-tokens') {
  if (road === 'count-tokens') return '/v1/messages/count_tokens';
  return road.endsWith('responses') ? '/v1/responses' : '/v1/messages';
}

/** True for a stream with a proper end. */
export function isWhole({ status, text }: ChatAnswer): boolean {
  return status === 200 && /"response\.completed"|event: message_stop|data: \[DONE\]/.test(text);
}
