import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { Metrics } from '@gateway/telemetry';
import { describe, expect, it } from 'vitest';
import { createEvents, type EventLog } from './events.ts';
import { LoggedRequest } from './usage/__fixtures__/logged-request.ts';

/** The log lines about a request at a level. */
function linesOf(request: LoggedRequest, level: 'info' | 'debug') {
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
  events.requestStarted('POST');
  events.requestEnded('POST', 'chat', request.entry);
  return lines;
}

const limited = { status: 429, errorCode: 'rate_limit_exceeded' } as const;

describe('the log of an outage', () => {
  it('has one line a minute about each part that fails, however many requests meet it', async () => {
    const lines: object[] = [];
    const ignore = () => undefined;
    const warn = (fields: object) => lines.push(fields);
    const logger: EventLog = { isLevelEnabled: () => true, debug: ignore, info: ignore, warn, error: ignore };
    const metrics = new Metrics();
    const events = createEvents({ logger, metrics });
    for (let n = 0; n < 50; n++) {
      events.faulted('settle', new Error('away'), `charge-${n}`);
      events.faulted('identity', new Error('away'));
      events.reportGivenUp(new Error('away'), `report-${n}`);
      events.settleKept();
    }
    expect(lines).toMatchObject([
      { part: 'settle', request_id: 'charge-0' },
      { part: 'identity' },
      { request_id: 'report-0' },
    ]);
    const shown = await metrics.registry.metrics();
    expect(shown).toContain('gateway_edge_faults_total{part="settle"} 100');
    expect(shown).toContain('gateway_edge_faults_total{part="identity"} 50');
    expect(shown).toContain('gateway_edge_attempt_reports_given_up_total 50');
  });
});

describe('the log', () => {
  it.each([
    ['that moved', new LoggedRequest('r').read().lease('a').fail(AttemptResult.RATE_LIMITED).lease('b').answer().end()],
    ['that was slow', new LoggedRequest('r').read().lease('a').wait(10_000).answer().end()],
    ['that was refused', new LoggedRequest('r').read().end(limited)],
    ['whose client left', new LoggedRequest('r').read().end({ status: 499, clientLeft: true })],
  ])('has one line, by its id, about a request %s', (_what, request) => {
    expect(linesOf(request, 'info')).toMatchObject([{ request_id: 'r', endpoint: '/v1/messages' }]);
  });

  it.each([
    ['plain successes', new LoggedRequest('r').read().lease('a').answer().end()],
    ['requests without a token', new LoggedRequest('r').end({ status: 401, errorCode: 'unauthorized' })],
  ])('has lines about %s at debug only', (_what, request) => {
    expect(linesOf(request, 'info')).toEqual([]);
    expect(linesOf(request, 'debug')).toMatchObject([{ request_id: 'r' }]);
  });
});
