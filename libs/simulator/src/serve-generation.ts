import { isObject, parseJson } from '@gateway/json';
import { planAnswer, reasoningTokensOf, tokensOf } from './answer/plan-answer.ts';
import type { Exchange } from './exchange.ts';
import { type Answer, ProviderRefusal, type ProviderRequest } from './provider-format.ts';
import type { Provider } from './serve-request.ts';
import { streamAnswer } from './streaming.ts';
import { withFaults } from './with-faults.ts';

export interface AuthenticatedRequest {
  readonly account: string;
  readonly bytes: Buffer;
}

/** Serves a request to generate. */
export async function serveGeneration(
  provider: Provider,
  exchange: Exchange,
  received: AuthenticatedRequest,
): Promise<void> {
  const { format, record } = exchange;
  const request = readRequest(provider, exchange, received);
  const read = await withFaults(provider, exchange, request.body, () => format.readConversation(request));
  if (read === undefined) return;
  const { result: conversation, faults } = read;
  const answer: Answer = {
    id: `sim${record.state.id.toString(16).padStart(21, '0')}`,
    account: received.account,
    createdAtSeconds: Math.floor(provider.nowMs() / 1000),
    request: request.body,
    conversation,
    plan: planAnswer(conversation),
    faults,
  };
  if (conversation.stream) return streamAnswer(exchange, answer, faults, provider.eventDelayMs);
  const { parts } = answer.plan;
  exchange.bill(answer, { outputTokens: tokensOf(parts), reasoningTokens: reasoningTokensOf(parts) });
  await exchange.sendJson(200, format.body(answer), faults.headers);
}

/** @throws {ProviderRefusal} when the bytes are not a JSON object. */
export function readRequest(
  { models }: Provider,
  { format, request: { headers } }: Exchange,
  { account, bytes }: AuthenticatedRequest,
): ProviderRequest {
  const body = parseJson(bytes.toString());
  if (isObject(body)) return { account, headers, body, models: models.get()[format.name] };
  throw new ProviderRefusal({ status: 400, message: 'The request body is not a valid JSON object.' });
}
