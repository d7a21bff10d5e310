import type { FaultScene } from '../injections/injection.ts';
import { eventsIn, type TappedEvent } from '../injections/usage-stream-tap.ts';
import type { JudgedRequest } from './judge-requests.ts';
import { type OutboxRow, readOutboxes } from './read-outboxes.ts';
import { dataFoldersOf } from './wait-for-quiet.ts';

/** The places with traces of failed requests. */
export interface Traces {
  readonly outboxes: readonly OutboxRow[];
  readonly messages: readonly { readonly sequence: number; readonly events: readonly TappedEvent[] }[];
}

/** Reads outboxes and stream once, for all requests. */
export async function findTraces({ gateway, stream }: FaultScene): Promise<Traces> {
  const { first_seq: first, last_seq: last } = await stream.state();
  const messages: { sequence: number; events: readonly TappedEvent[] }[] = [];
  for (let sequence = first; sequence <= last; sequence++) {
    const events = (await stream.read(sequence, sequence)).flatMap((message) => eventsIn(message));
    messages.push({ sequence, events });
  }
  return { outboxes: await readOutboxes(dataFoldersOf(gateway.replicas['edge-router'])), messages };
}

/** All traces of one request: its client, its providers, the outbox, the stream, the ledger. */
export function describeRequest({ request, attempts, rows, wiped, verdict }: JudgedRequest, traces: Traces): string {
  const isOfRequest = ({ requestId, tokenId, admittedAtMs }: Trace) =>
    rows.some((row) => row.requestId === requestId) ||
    (tokenId === request.tokenId &&
      admittedAtMs !== undefined &&
      admittedAtMs >= request.startedMs - 5 &&
      admittedAtMs <= request.endedMs + 5);
  const at = (ms: number | null) => (ms === null ? 'never' : `+${Math.round(ms - request.startedMs)} ms`);
  const inStream = traces.messages.flatMap(({ sequence, events }) =>
    events.filter(isOfRequest).map(({ requestId, tokens }) => `stream: message ${sequence}, ${requestId}, ${tokens}`),
  );
  const inOutboxes = traces.outboxes.filter(isOfRequest);
  return [
    `${verdict}: ${request.kind.name} of token ${request.tokenId} (${request.marker}) at edge ${request.edge + 1}`,
    `client: ${request.view}, status ${request.status}, began ${new Date(request.startedMs).toISOString()}, ended ${at(request.endedMs)}${request.problem === undefined ? '' : `; ${request.problem}`}`,
    ...attempts.map(
      ({ account, model, outcome, status, billed, receivedAtMs, endedAtMs }) =>
        `provider: ${account} ${model} ${outcome} ${status}, from ${at(receivedAtMs)} to ${at(endedAtMs)}, billed ${billed.inputTokens} (${billed.cachedTokens} cached) + ${billed.outputTokens}`,
    ),
    ...inOutboxes.map(({ kind, requestId, file }) => `outbox: ${kind} ${requestId} in ${file}`),
    ...inStream,
    ...wiped.map(({ requestId }) => `wiped from the stream: ${requestId}`),
    ...rows.map(
      (row) =>
        `row: ${row.requestId} ${row.model} ${row.inputTokens} (${row.cachedTokens} cached) + ${row.outputTokens}, ${row.outcome}${row.estimated ? ', estimated' : ''}, admitted ${at(row.admittedAtMs)}`,
    ),
  ].join('\n    ');
}

type Trace = Pick<OutboxRow, 'requestId' | 'tokenId' | 'admittedAtMs'>;
