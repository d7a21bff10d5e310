import { roomMs, roomSeconds } from '@gateway/testkit/room';
import { describe, expect, it } from 'vitest';
import { streamLimitsBehaviour } from '../behaviours/stream-limits.ts';
import { eventsOf } from '../client/chat.ts';
import { chatAfresh } from '../client/fresh-connection.ts';
import { issueToken } from '../client/tokens.ts';
import { startAllInOne } from '../topologies/all-in-one.ts';
import { describeTopology } from '../topologies/describe-topology.ts';
import { streamLimitSettings, writeStreamLimitsFile } from '../topologies/stream-limits-file.ts';

describeTopology(
  'streams of a gateway with short limits: embedded',
  () => startAllInOne('stream-limits', streamLimitSettings, writeStreamLimitsFile),
  streamLimitsBehaviour,
);

describe('a gateway that is stopped while a stream runs', () => {
  it('waits for the longest stream there can be, which is ended with an error, and no longer', async () => {
    await using gateway = await startAllInOne(
      'drained',
      { MAX_STREAM_SECONDS: String(roomSeconds(4)) },
      writeStreamLimitsFile,
    );
    gateway.simulator.faults.add({ times: 1, fault: { kind: 'delay', betweenEventsMs: 100 } });
    const token = await issueToken(gateway, { kind: 'personal' });
    const messages = [{ role: 'user', content: '#long 5000' }];
    const { began, answer } = chatAfresh(gateway, token.text, { model: 'gateway/sterk', messages, stream: true });
    await began;
    const stoppedAtMs = performance.now();
    gateway.command.kill('SIGTERM');
    const { text, brokeOff } = await answer;
    expect(brokeOff).toBe(false);
    expect(eventsOf(text).at(-1)).toMatchObject({ error: { code: 'providers_unavailable' } });
    expect(performance.now() - stoppedAtMs).toBeGreaterThan(2_000);
    expect((await gateway.command.ended).exitCode).toBe(0);
    expect(performance.now() - stoppedAtMs).toBeLessThan(roomMs(15_000));
  });
});

describe('a gateway that waits for a first content only briefly', () => {
  it('waits longer while the model shows that it reasons', async () => {
    const settings = { UPSTREAM_FIRST_BYTE_TIMEOUT_SECONDS: '3' };
    await using gateway = await startAllInOne('impatient', settings, writeStreamLimitsFile);
    gateway.simulator.faults.add({ times: 1, fault: { kind: 'delay', betweenEventsMs: 600 } });
    const token = await issueToken(gateway, { kind: 'personal' });
    // Two events at the beginning, and two for each of the items of reasoning.
    const messages = [{ role: 'user', content: `${'#reason 20 '.repeat(4)}Hello` }];
    const askedAtMs = performance.now();
    const { began, answer } = chatAfresh(gateway, token.text, { model: 'gateway/sterk', messages, stream: true });
    await began;
    expect(performance.now() - askedAtMs).toBeGreaterThan(4_000);
    expect(eventsOf((await answer).text).at(-1)).toBe('[DONE]');
    expect(gateway.simulator.requests({ path: '/v1/responses' })).toHaveLength(1);
  });
});
