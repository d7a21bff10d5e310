import { describe, expect, it } from 'vitest';
import { issueToken } from '../client/tokens.ts';
import { usageOf } from '../client/usage.ts';
import type { Topology } from '../topologies/topology.ts';

/** The beginning of the periods of usage. @see spec "Usage object" */
export function usagePeriodsBehaviour(gateway: () => Topology): void {
  describe('the periods of usage', () => {
    it('begin at midnight in Amsterdam: today, and six days before it', async () => {
      const { text: token } = await issueToken(gateway(), { tokensPerDay: 1_000 });
      const { today, last7Days, limits, timezone } = await usageNotAtMidnight(gateway(), token);
      expect(timezone).toBe('Europe/Amsterdam');
      expect(today.since).toBe(midnight(0));
      expect(last7Days.since).toBe(midnight(-6));
      expect(limits.tokensPerDay?.resetsAt).toBe(midnight(1));
    });
  });
}

/** Asks again if the day changed in between. */
async function usageNotAtMidnight(gateway: Topology, token: string) {
  const day = localDate(Date.now());
  const usage = await usageOf(gateway, token);
  return localDate(Date.now()) === day ? usage : usageOf(gateway, token);
}

/**
 * Midnight in Amsterdam this many days from today, from its clock alone: 00:00 there is 22:00 or
 * 23:00 in UTC.
 */
function midnight(days: number): string {
  const [year = 0, month = 0, day = 0] = localDate(Date.now()).split('-').map(Number);
  const instants = [22, 23].map((hour) => Date.UTC(year, month - 1, day + days - 1, hour));
  const found = instants.find((instant) => localTime(instant) === '00:00:00');
  if (found === undefined) throw new Error('Amsterdam has left its time zone');
  return new Date(found).toISOString();
}

const timeZone = 'Europe/Amsterdam';
const localDate = (instant: number) => new Intl.DateTimeFormat('sv-SE', { timeZone }).format(instant);
const localTime = (instant: number) =>
  new Intl.DateTimeFormat('sv-SE', { timeZone, timeStyle: 'medium' }).format(instant);
