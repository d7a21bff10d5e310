import type { RequestTraceService } from '@gateway/proto/edge/v1/request_trace_service_pb.js';
import type { Handlers } from '@gateway/rpc';
import type { RecentTraces } from '../trace/recent-traces.ts';
import { toTraceMessage } from '../trace/trace-message.ts';

/** One request of this edge. */
export function getTrace(traces: RecentTraces): Handlers<typeof RequestTraceService>['getTrace'] {
  return ({ requestId }) => {
    const story = traces.find(requestId);
    return story === undefined ? {} : { trace: toTraceMessage(story, traces.slowMs) };
  };
}
