import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { Metrics } from '@gateway/telemetry';
import { describe, expect, it } from 'vitest';
import { createEvents, type EventLog } from './events.ts';
import { TracedRequest } from './trace/__fixtures__/traced-request.ts';

/** The lines that are written about a request at a level. */
function linesOf(traced: TracedRequest, level: 'info' | 'debug') {
  const lines: object[] = [];
  const write = (fields: object) => lines.push(fields);
  const logger: EventLog = {
    isLevelEnabled: (asked) => asked === 'info' || level === 'debug',
    debug: write,
    info: write,
    warn: write,
    error: write,
  };
  const events = createEvents({ logger, metrics: new Metrics() });
  events.requestStarted();
  events.requestEnded(traced.story, 1_000);
  return lines;
}

const limited = { status: 429, errorCode: 'rate_limit_exceeded' } as const;

describe('the log', () => {
  it.each([
    ['that moved', new TracedRequest('r').read().lease('a').fail(AttemptResult.RATE_LIMITED).lease('b').answer().end()],
    ['that was slow', new TracedRequest('r').read().lease('a').wait(1_000).answer().end()],
    ['that was refused', new TracedRequest('r').read().end(limited)],
    ['whose client left', new TracedRequest('r').read().end({ status: 499, clientLeft: true })],
  ])('has one line, by its id, about a request %s', (_what, traced) => {
    expect(linesOf(traced, 'info')).toMatchObject([{ requestId: 'r', endpoint: '/v1/messages' }]);
  });

  it.each([
    ['plain successes', new TracedRequest('r').read().lease('a').answer().end()],
    ['requests without a token', new TracedRequest('r').end({ status: 401, errorCode: 'unauthorized' })],
  ])('has lines about %s at debug only', (_what, traced) => {
    expect(linesOf(traced, 'info')).toEqual([]);
    expect(linesOf(traced, 'debug')).toMatchObject([{ requestId: 'r' }]);
  });
});
