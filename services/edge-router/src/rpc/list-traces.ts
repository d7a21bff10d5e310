import { timestampMs } from '@bufbuild/protobuf/wkt';
import { GatewayError } from '@gateway/errors';
import {
  type ListTracesRequest,
  RequestEnding,
  type RequestTraceService,
  TraceFilter,
} from '@gateway/proto/edge/v1/request_trace_service_pb.js';
import type { Handlers } from '@gateway/rpc';
import type { RecentTraces } from '../trace/recent-traces.ts';
import { endingOf, hasMoved, isSlow } from '../trace/request-ending.ts';
import type { RequestStory } from '../trace/request-story.ts';
import { toTraceMessage } from '../trace/trace-message.ts';

/** The latest requests of this edge that match, newest first. */
export function listTraces(traces: RecentTraces): Handlers<typeof RequestTraceService>['listTraces'] {
  return (request) => {
    const found = traces.latest(checkedLimit(request), (story) => matches(story, request, traces.slowMs));
    return { traces: found.map((story) => toTraceMessage(story, traces.slowMs)) };
  };
}

/** How many traces are asked for. */
export function checkedLimit({ limit }: Pick<ListTracesRequest, 'limit'>): number {
  if (limit > maxTraces) throw new GatewayError('invalid_request', `limit is ${maxTraces} at most.`);
  return limit === 0 ? usualTraces : limit;
}

const usualTraces = 20;
const maxTraces = 1_000;

function matches(
  story: RequestStory,
  { tokenId, model, filter, since, until }: ListTracesRequest,
  slowMs: number,
): boolean {
  return (
    (tokenId === '' || story.tokenId === tokenId) &&
    (model === '' || story.model === model || story.attempts.some((attempt) => attempt.model === model)) &&
    (since === undefined || story.receivedAtMs >= timestampMs(since)) &&
    (until === undefined || story.receivedAtMs < timestampMs(until)) &&
    passes(story, filter, slowMs)
  );
}

function passes(story: RequestStory, filter: TraceFilter, slowMs: number): boolean {
  switch (filter) {
    case TraceFilter.UNSPECIFIED:
      return true;
    case TraceFilter.MOVED:
      return hasMoved(story);
    case TraceFilter.SLOW:
      return isSlow(story, slowMs);
    case TraceFilter.FAILED:
      return endingOf(story) === RequestEnding.FAILED;
    case TraceFilter.REFUSED:
      return endingOf(story) === RequestEnding.REFUSED;
    case TraceFilter.ABORTED:
      return endingOf(story) === RequestEnding.ABORTED;
    case TraceFilter.RUNNING:
      return endingOf(story) === RequestEnding.RUNNING;
    default:
      throw new GatewayError('invalid_request', 'filter is not known.');
  }
}
