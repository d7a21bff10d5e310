import type { RequestRecorded } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { figureText } from './figure-text.ts';

/**
 * The values of a request that are shown as they are: columns of exports by these names, and facts
 * by the words of the names in the console and in `gatewayctl`. Empty: the request has none.
 */
export const requestValues: Readonly<Record<string, (request: RequestRecorded) => string | number>> = {
  client_request_id: ({ clientRequestId }) => clientRequestId,
  body_bytes: ({ bodyBytes }) => bodyBytes || '',
  provider_request_ids: ({ attempts }) => attempts.flatMap(({ providerRequestId: id }) => id || []).join(' '),
};

/** Those that a request has, for people: "1.2 MiB" by "body", for `body_bytes`. */
export function requestFacts(request: RequestRecorded): readonly (readonly [name: string, text: string])[] {
  const facts = Object.entries(requestValues).map(([name, of]) => figureText(name, of(request)));
  return facts.flatMap(({ name, text }) => (text === '' ? [] : [[name, text] as const]));
}
