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

describe('a gateway that is stopped while a stream goes on', () => {
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
