import { roomMs } from '@gateway/testkit/room';
import { beforeAll, describe, expect, it } from 'vitest';
import { oneAnswer } from '../simulation/checkers/one-answer.ts';
import type { Verdict } from './audit/judge-requests.ts';
import { longSchedule, shortSchedule } from './injections/schedule.ts';
import { type CampaignOptions, type CampaignResult, runCampaign } from './run-campaign.ts';

const isLong = process.env.FAULTS === 'long';

const options: CampaignOptions = {
  seed: Number(process.env.FAULTS_SEED ?? Math.floor(Math.random() * 1e9)),
  injections: (random) => (isLong ? longSchedule(Number(process.env.FAULTS_ROUNDS ?? 1), random) : shortSchedule),
  clients: 12,
  clientPauseMs: isLong ? 600 : 500,
  pauseMs: isLong ? 1_000 : 500,
  quietTimeoutMs: roomMs(isLong ? 90_000 : 30_000),
};

describe('a gateway whose parts die, freeze and forget while it answers', () => {
  let result: CampaignResult;
  beforeAll(
    async () => {
      result = await runCampaign(options);
    },
    roomMs(isLong ? 20 * 60_000 : 180_000),
  );

  const countOf = (verdict: Verdict) => result.judgement.requests.filter((judged) => judged.verdict === verdict).length;
  /** The beginning of a failure message; comparing lists would print every byte of them. */
  const descriptions = () => result.descriptions.join('\n\n');

  it('was under load, and was injected', () => {
    expect(result.injected.length).toBeGreaterThanOrEqual(shortSchedule.length);
    expect(countOf('exact')).toBeGreaterThan(100);
    // A gateway that refuses everything loses nothing.
    expect(countOf('exact') + countOf('estimated')).toBeGreaterThan(result.judgement.requests.length / 2);
    expect(countOf('estimated')).toBeGreaterThan(0);
    expect(result.effects.repeated).toBeGreaterThan(0);
    expect(result.effects.committedAfterDeath).toBeGreaterThan(0);
  });

  it('comes to rest: nothing stays behind in an outbox, in the stream or at a provider', () => {
    expect(result.quiet.restless).toEqual([]);
  });

  it('loses no request that was answered', () => {
    expect(countOf('lost'), descriptions()).toBe(0);
  });

  it('books no request twice', () => {
    expect(countOf('doubled'), descriptions()).toBe(0);
  });

  it('records exactly what the provider billed, and marks every estimate', () => {
    expect(countOf('wrong'), descriptions()).toBe(0);
  });

  it('records nothing without a request', () => {
    expect(result.judgement.unknownRows.length, descriptions()).toBe(0);
  });

  it('says the same in rows, daily sums, GET /v1/usage and the counters of both limiters', () => {
    expect(result.totals.filter(({ disagreements }) => disagreements.length > 0)).toEqual([]);
  });

  it('keeps each message that it could not understand, and none that it could', () => {
    expect(result.deadLetters).toBe(result.effects.poisons);
  });

  it(`keeps this promise, as the simulated world does: ${oneAnswer.promise}`, () => {
    const requests = result.judgement.requests.map(({ request }) => request);
    expect(oneAnswer.check({ requests, uncaught: result.unexpectedEnds })).toEqual([]);
  });
});
