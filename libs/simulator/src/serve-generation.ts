import { setTimeout } from 'node:timers/promises';
import { asString, isObject, type JsonObject, parseJson } from '@gateway/json';
import { planAnswer, reasoningTokensOf, tokensOf } from './answer/plan-answer.ts';
import { type Exchange, untilAborted } from './exchange.ts';
import type { EndingFault, MatchedFaults, TimedPreset } from './faults/fault-book.ts';
import { type PresetAnswer, presets } from './faults/fault-presets.ts';
import type { FaultOf } from './faults/fault-script.ts';
import { type Answer, ProviderRefusal } from './provider-format.ts';
import type { Provider } from './serve-request.ts';
import { type StreamFault, streamAnswer } from './streaming.ts';

/** Serves a request to generate: the faults that replace an answer come first, as they would with a provider. */
export async function serveGeneration(
  provider: Provider,
  exchange: Exchange,
  { account, bytes }: { readonly account: string; readonly bytes: Buffer },
): Promise<void> {
  const { format, request } = exchange;
  const body = parseObject(bytes);
  const faults = matchFaults(provider, exchange, { account, body });
  if (await replaceAnswer(provider, exchange, faults)) return;
  const models = provider.models.get()[format.name];
  const conversation = format.readConversation({ account, headers: request.headers, body, models });
  consume(exchange, faults);
  await delayHeaders(exchange, faults);
  const answer: Answer = {
    id: `sim${exchange.record.id.toString(16).padStart(21, '0')}`,
    account,
    createdAtSeconds: Math.floor(provider.nowMs() / 1000),
    request: body,
    conversation,
    plan: planAnswer(conversation),
    faults,
  };
  if (!conversation.stream) return sendWhole(exchange, answer, faults);
  const ending = faults.ending && duringAnswer(faults.ending);
  await streamAnswer(exchange, answer, { faults, ending, eventDelayMs: provider.eventDelayMs });
}

/** @throws {ProviderRefusal} when the bytes are not a JSON object. */
export function parseObject(bytes: Buffer): JsonObject {
  const value = parseJson(bytes.toString());
  if (isObject(value)) return value;
  throw new ProviderRefusal({ status: 400, message: 'The request body is not a valid JSON object.' });
}

interface FaultyRequest {
  readonly account: string;
  readonly body: JsonObject;
}

/**
 * Injects the faults of a request that generates nothing: `answered` when one of them took the place of the answer.
 * `change` is what the request does even when its answer is late or lost.
 */
export async function injectFaults(
  provider: Provider,
  exchange: Exchange,
  request: FaultyRequest,
  change: () => void = () => undefined,
): Promise<'answered' | 'to answer'> {
  const faults = matchFaults(provider, exchange, request);
  if (await replaceAnswer(provider, exchange, faults)) return 'answered';
  consume(exchange, faults);
  change();
  await delayHeaders(exchange, faults);
  return 'to answer';
}

/** Finds the faults for a request and notes what is known of it. */
function matchFaults(
  { faults }: Provider,
  { path, record }: Exchange,
  { account, body }: FaultyRequest,
): MatchedFaults {
  const model = asString(body.model);
  const stream = body.stream === true;
  record.change({ model: model ?? null, stream });
  return faults.match({ account, path, model, stream });
}

/** Injects the fault that leaves nothing of the answer, not even its status; false when there is none. */
async function replaceAnswer(provider: Provider, exchange: Exchange, faults: MatchedFaults): Promise<boolean> {
  const { ending } = faults;
  if (ending === undefined || duringAnswer(ending) !== undefined) return false;
  consume(exchange, faults);
  await delayHeaders(exchange, faults);
  switch (ending.kind) {
    case 'reset':
      exchange.reset();
      return true;
    case 'stall':
      return untilAborted(exchange.signal);
    case 'status':
      await sendStatus(exchange, ending);
      break;
    case 'preset':
      await sendPreset(exchange, ending, provider.nowMs());
  }
  exchange.record.end('faulted');
  return true;
}

/** The fault, if it comes while the answer is streamed. */
function duringAnswer(ending: EndingFault | TimedPreset): StreamFault | undefined {
  if (ending.kind === 'preset' || ending.kind === 'status') return undefined;
  const isBefore = (ending.kind === 'reset' || ending.kind === 'stall') && ending.afterEvents === undefined;
  return isBefore ? undefined : ending;
}

async function sendStatus(exchange: Exchange, { status, headers, body }: FaultOf<'status'>): Promise<void> {
  if (typeof body === 'string') return exchange.send(status, body, { 'content-type': 'text/plain', ...headers });
  if (body === undefined) return exchange.sendError({ status, message: `Simulated: status ${status}.` }, headers);
  return exchange.send(status, JSON.stringify(body), { 'content-type': 'application/json', ...headers });
}

async function sendPreset(exchange: Exchange, { preset, resetAtMs }: TimedPreset, nowMs: number): Promise<void> {
  const answer: PresetAnswer = presets[preset]({ format: exchange.format.name, nowMs, resetAtMs });
  if (answer.html === undefined) return exchange.sendError(answer.error, answer.headers);
  return exchange.send(answer.error.status, answer.html, { 'content-type': 'text/html', ...answer.headers });
}

/** Waits as long as a fault says, before anything is sent. */
async function delayHeaders({ signal }: Exchange, { delay }: MatchedFaults): Promise<void> {
  if (delay?.beforeHeadersMs !== undefined) await setTimeout(delay.beforeHeadersMs, undefined, { signal });
}

/** Counts the faults as used and notes them. */
function consume({ record }: Exchange, faults: MatchedFaults): void {
  faults.consume();
  record.change({ faults: namesOf(faults) });
}

function namesOf({ ending, kinds }: MatchedFaults): readonly string[] {
  return [...kinds].map((kind) => (ending?.kind === 'preset' && kind === 'preset' ? ending.preset : kind));
}

async function sendWhole(exchange: Exchange, answer: Answer, { headers }: MatchedFaults): Promise<void> {
  const { parts } = answer.plan;
  exchange.bill(answer, { outputTokens: tokensOf(parts), reasoningTokens: reasoningTokensOf(parts) });
  await exchange.sendJson(200, exchange.format.body(answer), headers);
  exchange.record.end('completed');
}
