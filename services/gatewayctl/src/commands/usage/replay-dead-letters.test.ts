import { describe, expect, it } from 'vitest';
import { replayDeadLetters } from '../usage.ts';
import { openUsageWorld, unimplemented, usageEvent } from './__fixtures__/usage-world.ts';

describe('gatewayctl usage replay-dead-letters', () => {
  it('lists what stays dead with the reason, and sums up', async () => {
    await using world = await openUsageWorld();
    await world.record(usageEvent('a', 'tomorrow'));
    await replayDeadLetters(world.plane, {});
    expect(world.terminal.lines[0]).toMatch(/^[0-9a-f]{64} {2}\d{4}-.*Z {2}localDay is not a day$/);
    expect(world.terminal.lines.at(-1)).toBe('0 recorded, 0 in the ledger already and deleted, 1 still dead.');
  });

  it('says what it would do', async () => {
    await using world = await openUsageWorld();
    await replayDeadLetters(world.plane, { dryRun: true });
    expect(world.terminal.printed).toBe(
      '0 would be recorded, 0 in the ledger already and would be deleted, 0 still dead.\n',
    );
  });

  it('says what to do when the address does not serve it', async () => {
    await using world = await openUsageWorld();
    const elsewhere = { ledger: { ...world.plane.ledger, replayDeadLetters: unimplemented } };
    await expect(replayDeadLetters(elsewhere, {})).rejects.toThrow(/admin port of usage-ingest/);
  });
});
