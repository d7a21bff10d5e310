import { toJson } from '@bufbuild/protobuf';
import { timestampDate, timestampMs } from '@bufbuild/protobuf/wkt';
import { type RequestTrace, RequestTraceSchema, TraceFilter } from '@gateway/proto/edge/v1/request_trace_service_pb.js';
import { callOptions } from '../../control-plane/control-plane.ts';
import type { Edge } from '../../control-plane/edges.ts';
import { durationText } from '../../output/duration-text.ts';
import { formatTable } from '../../output/table.ts';
import type { Terminal } from '../../output/terminal.ts';
import { askEdges } from './ask-edges.ts';
import { endingText } from './request-text.ts';

export const statusNames = ['failed', 'moved', 'slow', 'refused', 'aborted', 'running'] as const;

export interface ListFlags {
  readonly token?: string;
  readonly model?: string;
  readonly status?: (typeof statusNames)[number];
  readonly last: number;
  readonly json?: boolean;
}

/** Prints the latest requests of all edges that match, newest first. */
export async function listRequests(edges: readonly Edge[], flags: ListFlags, terminal: Terminal): Promise<void> {
  const request = {
    tokenId: flags.token ?? '',
    model: flags.model ?? '',
    filter: flags.status === undefined ? TraceFilter.UNSPECIFIED : filters[flags.status],
    limit: flags.last,
  };
  const answers = await askEdges(edges, ({ traces }) => traces.listTraces(request, callOptions), terminal);
  const traces = answers
    .flatMap((answer) => answer.traces)
    .sort((one, other) => receivedAtMs(other) - receivedAtMs(one))
    .slice(0, flags.last);
  if (flags.json) {
    await terminal.print(traces.map((trace) => `${JSON.stringify(toJson(RequestTraceSchema, trace))}\n`).join(''));
    return;
  }
  if (traces.length === 0) terminal.note('No request of those that edges remember matches.');
  else await terminal.print(formatTable(headings, traces.map(toRow)));
}

const filters: Readonly<Record<(typeof statusNames)[number], TraceFilter>> = {
  failed: TraceFilter.FAILED,
  moved: TraceFilter.MOVED,
  slow: TraceFilter.SLOW,
  refused: TraceFilter.REFUSED,
  aborted: TraceFilter.ABORTED,
  running: TraceFilter.RUNNING,
};

const headings = ['received', 'request', 'token', 'model', 'accounts', 'ended', 'first byte', 'total'];

function toRow(trace: RequestTrace): readonly string[] {
  const { requestId, receivedAt, tokenId, model, attempts, moments } = trace;
  return [
    receivedAt === undefined ? '' : timestampDate(receivedAt).toISOString(),
    requestId,
    tokenId,
    model,
    attempts.map(({ accountId }) => accountId).join(' → '),
    endingText(trace),
    moments?.firstByte === undefined ? '–' : durationText(moments.firstByte),
    moments?.ended === undefined ? '–' : durationText(moments.ended),
  ];
}

function receivedAtMs({ receivedAt }: RequestTrace): number {
  return receivedAt === undefined ? 0 : timestampMs(receivedAt);
}
