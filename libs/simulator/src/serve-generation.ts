import { type AnswerSettings, answerRequest, delayHeaders } from './answer-request.ts';
import type { Exchange } from './exchange.ts';
import type { FaultBook, MatchedFaults, TimedPreset } from './faults/fault-book.ts';
import { presetAnswer } from './faults/fault-presets.ts';
import type { FaultOf } from './faults/fault-script.ts';
import { isJsonObject, type JsonObject, toText } from './json-value.ts';
import { ProviderRefusal } from './provider-format.ts';
import type { StreamFault } from './streaming/script-stream.ts';
import { untilAborted } from './streaming/write-stream.ts';

/** Serves a request to generate: the faults that replace an answer come first, as they would with a provider. */
export async function serveGeneration(
  exchange: Exchange,
  request: { readonly account: string; readonly bytes: Buffer; readonly models: readonly string[] },
  { faults: book, settings }: { readonly faults: FaultBook; readonly settings: AnswerSettings },
): Promise<void> {
  const { account } = request;
  const body = parseObject(request.bytes);
  const faults = matchFaults(exchange, book, { account, body });
  const instead = insteadOfAnswer(faults);
  if (instead !== undefined) return replaceAnswer(exchange, faults, instead, settings.nowMs);
  const headers = exchange.request.headers;
  const conversation = exchange.format.readConversation({ account, headers, body, models: request.models });
  consume(exchange, faults);
  await delayHeaders(exchange, faults);
  await answerRequest(exchange, { account, body, conversation, faults, ending: duringAnswer(faults) }, settings);
}

/** @throws {ProviderRefusal} when the bytes are not a JSON object. */
export function parseObject(bytes: Buffer): JsonObject {
  const value = parseJson(bytes);
  if (isJsonObject(value)) return value;
  throw new ProviderRefusal({ status: 400, message: 'The request body is not a valid JSON object.' });
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return undefined;
  }
}

/** Finds the faults for a request and notes what is known of it. */
export function matchFaults(
  { path, record }: Exchange,
  book: FaultBook,
  { account, body }: { readonly account: string; readonly body: JsonObject },
): MatchedFaults {
  const model = toText(body.model);
  const stream = body.stream === true;
  record.change({ model: model ?? null, stream });
  return book.match({ account, path, model, stream });
}

export type InsteadOfAnswer = TimedPreset | FaultOf<'status'> | FaultOf<'reset'> | FaultOf<'stall'>;

/** The fault that leaves nothing of the answer, not even its status. */
export function insteadOfAnswer({ ending }: MatchedFaults): InsteadOfAnswer | undefined {
  switch (ending?.kind) {
    case 'preset':
    case 'status':
      return ending;
    case 'reset':
    case 'stall':
      return ending.afterEvents === undefined ? ending : undefined;
    default:
      return undefined;
  }
}

/** The fault that strikes while the answer is streamed. */
function duringAnswer({ ending }: MatchedFaults): StreamFault | undefined {
  return ending?.kind === 'preset' || ending?.kind === 'status' ? undefined : ending;
}

export async function replaceAnswer(
  exchange: Exchange,
  faults: MatchedFaults,
  instead: InsteadOfAnswer,
  nowMs: () => number,
): Promise<void> {
  consume(exchange, faults);
  await delayHeaders(exchange, faults);
  switch (instead.kind) {
    case 'reset':
      return exchange.reset();
    case 'stall':
      return untilAborted(exchange.signal);
    case 'status':
      await sendStatus(exchange, instead);
      break;
    case 'preset':
      await sendPreset(exchange, instead, nowMs());
  }
  exchange.record.end('faulted');
}

async function sendStatus(exchange: Exchange, { status, headers, body }: FaultOf<'status'>): Promise<void> {
  if (typeof body === 'string') return exchange.send(status, body, { 'content-type': 'text/plain', ...headers });
  if (body === undefined) return exchange.sendError({ status, message: `Simulated: status ${status}.` }, headers);
  return exchange.send(status, JSON.stringify(body), { 'content-type': 'application/json', ...headers });
}

async function sendPreset(exchange: Exchange, { preset, resetAtMs }: TimedPreset, nowMs: number): Promise<void> {
  const answer = presetAnswer(preset, { format: exchange.format.name, nowMs, resetAtMs });
  if (answer.html === undefined) return exchange.sendError(answer.error, answer.headers);
  return exchange.send(answer.error.status, answer.html, { 'content-type': 'text/html', ...answer.headers });
}

/** Counts the faults as used and notes them. */
export function consume({ record }: Exchange, faults: MatchedFaults): void {
  faults.consume();
  record.change({ faults: namesOf(faults) });
}

function namesOf({ ending, delay, changes, headers, usage }: MatchedFaults): readonly string[] {
  return [
    ...(delay === undefined ? [] : ['delay']),
    ...changes,
    ...(Object.keys(headers).length > 0 ? ['headers'] : []),
    ...(usage === undefined ? [] : ['usage']),
    ...(ending === undefined ? [] : [ending.kind === 'preset' ? ending.preset : ending.kind]),
  ];
}
