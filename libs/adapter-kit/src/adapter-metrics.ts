import { AttemptResult, ProviderFormat as ProviderFormatId } from '@gateway/proto/pool/v1/account_pb.js';
import { durationBucketsSeconds, type Metrics } from '@gateway/telemetry';
import type { ErrorMeaning } from './failure/upstream-failure.ts';
import { genAiMetrics } from './gen-ai-metrics.ts';

/** What is counted of an adapter's calls to providers. */
export type AdapterMetrics = ReturnType<typeof adapterMetrics>;

export function adapterMetrics(metrics: Metrics, formatId: ProviderFormatId) {
  const format = ProviderFormatId[formatId].toLowerCase();
  const attempts = metrics.counter({
    name: 'gateway_upstream_attempts_total',
    help: 'Attempts at a provider, by how they ended.',
    labels: ['format', 'result'],
  });
  const amended = metrics.counter({
    name: 'gateway_upstream_amended_requests_total',
    help: 'Requests that were sent again at once without what the provider complained of, by the complaint.',
    labels: ['format', 'meaning'],
  });
  const unknownEvents = metrics.counter({
    name: 'gateway_upstream_unknown_events_total',
    help: 'Events of providers that were skipped because this version of the gateway does not know them.',
    labels: ['format'],
  });
  const firstByte = metrics.histogram({
    name: 'gateway_upstream_first_byte_seconds',
    help: 'Time from sending a request to the head of the provider’s answer. Model lists are not among them.',
    labels: ['format'],
    buckets: durationBucketsSeconds,
  });
  const openStreams = metrics.gauge({
    name: 'gateway_upstream_open_streams',
    help: 'Requests to providers that are under way.',
    labels: ['format'],
  });
  // From the start, so that no request is needed to see it.
  openStreams.inc({ format }, 0);
  unknownEvents.inc({ format }, 0);
  return {
    /** The same calls by the GenAI conventions. */
    genAi: genAiMetrics(metrics, formatId),
    attemptEnded: (result: AttemptResult) => attempts.inc({ format, result: AttemptResult[result].toLowerCase() }),
    requestAmended: (meaning: ErrorMeaning) => amended.inc({ format, meaning }),
    unknownEventsSkipped: (count: number) => unknownEvents.inc({ format }, count),
    answerBegan: (sinceStartMs: number) => firstByte.observe({ format }, sinceStartMs / 1_000),
    streamOpened: () => openStreams.inc({ format }),
    streamClosed: () => openStreams.dec({ format }),
  };
}
