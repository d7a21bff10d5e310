import { asString, type JsonObject } from '@gateway/json';
import { epochMs, sleep } from '@gateway/time';
import type { Exchange } from './exchange.ts';
import { duringStream, type EndingFault, type MatchedFaults, type StreamFault } from './faults/fault-book.ts';
import { answerOfPreset } from './faults/fault-presets.ts';
import type { Provider } from './provider.ts';

/** The faults that apply to an answer with status and headers. */
export interface AnswerFaults extends MatchedFaults {
  readonly ending: StreamFault | undefined;
}

/**
 * Runs the work of a request and injects the faults that come before its answer; undefined when one
 * of them replaced the answer. The work runs even if the answer is late or lost. If the work
 * throws, no fault counts as used.
 */
export async function withFaults<Result>(
  provider: Provider,
  exchange: Exchange,
  body: JsonObject,
  work: () => Result,
): Promise<{ readonly result: Result; readonly faults: AnswerFaults } | undefined> {
  const { state } = exchange.record;
  const model = asString(body.model);
  state.model = model ?? null;
  state.stream = body.stream === true;
  const { path, stream } = state;
  const { isReused } = exchange;
  const faults = provider.faults.match({ account: state.account ?? '', path, model, stream, isReused });
  const ending = faults.ending && duringStream(faults.ending);
  if (faults.ending !== undefined && ending === undefined) {
    await begin(exchange, faults);
    return replaceAnswer(exchange, faults.ending);
  }
  const result = work();
  await begin(exchange, faults);
  return { result, faults: { ...faults, ending } };
}

/** Counts the faults as used, records them, and waits as long as one of them requires. */
async function begin({ record, signal }: Exchange, { consume, ending, kinds, delay }: MatchedFaults): Promise<void> {
  consume();
  record.state.faults = [...kinds].map((kind) => (kind === 'preset' && ending?.kind === kind ? ending.preset : kind));
  if (delay?.beforeHeadersMs !== undefined) await sleep(delay.beforeHeadersMs, { signal });
}

/** Replaces the whole answer, including its status. */
async function replaceAnswer(exchange: Exchange, fault: EndingFault): Promise<undefined> {
  if (fault.kind === 'reset') return exchange.reset();
  if (fault.kind === 'close_reused') return exchange.close();
  if (fault.kind === 'stall') return exchange.untilAborted();
  if (fault.kind === 'preset') {
    const { resetAtMs, preset } = fault;
    const answer = answerOfPreset(preset, { format: exchange.format.name, nowMs: epochMs(), resetAtMs });
    if (answer.html === undefined) await exchange.sendError(answer.error, answer.headers);
    else await exchange.send(answer.error.status, answer.html, { 'content-type': 'text/html', ...answer.headers });
  }
  if (fault.kind === 'status') {
    const { status, headers, body, encoding } = fault;
    if (encoding !== undefined) await exchange.sendEncoded(status, body, encoding, headers);
    else if (body === undefined) await exchange.sendError({ status, message: `Simulated: status ${status}.` }, headers);
    else if (typeof body === 'string') await exchange.send(status, body, { 'content-type': 'text/plain', ...headers });
    else await exchange.sendJson(status, body, headers);
  }
  exchange.record.end('faulted');
}
