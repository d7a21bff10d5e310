import { AccountProblem, AccountUse, AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { directClient } from '@gateway/rpc';
import { createLogger, Metrics } from '@gateway/telemetry';
import { describe, expect, it, onTestFinished } from 'vitest';
import { gatewayWith, sampleAccount, sampleSettings } from '../../src/__fixtures__/sample-gateway.ts';
import { createPoolBrokerService } from '../../src/service.ts';
import { MemoryPoolStore } from '../../src/store/memory-pool-store.ts';
import { randomNumbers } from './__fixtures__/random-numbers.ts';
import { hourMs, limitForms, SimulatedAccount, SimulatedWindow } from './__fixtures__/simulated-account.ts';
import { sendRequest } from './__fixtures__/simulated-clients.ts';
import { SimulationReport } from './__fixtures__/simulation-report.ts';
import { VirtualTime } from './__fixtures__/virtual-time.ts';

const startMs = Date.parse('2026-11-16T00:00:00Z');
const minuteMs = 60_000;
const rules = sampleSettings;
/** At night requests are seconds apart: a probe may have to wait this long for the next one. */
const nextRequestMs = 30_000;
/** A probe that is due goes out with the next request, after random jitter. */
const stretched = (ms: number) => ms * (1 + rules.cooldownJitter) + nextRequestMs;

function lagAfter(skipReason: SimulatedAccount['lastFault']): number {
  switch (skipReason) {
    case 'none':
      return 0;
    // Providers round to seconds: the true end may be up to one second earlier.
    case 'named_limit':
      return 1_000;
    case 'early_reset':
      return stretched(rules.earlyProbeIntervalMs);
    case AttemptResult.OVERLOADED:
    case AttemptResult.NETWORK_ERROR:
      return stretched(rules.poolPauseMaxMs) + rules.poolProbeQuietMs;
    default:
      return stretched(rules.lastResortProbeIntervalMs) + rules.probeTimeoutMs;
  }
}

function worldOf(seed: number, days: number) {
  const time = new VirtualTime(startMs);
  onTestFinished(() => time[Symbol.dispose]());
  const random = randomNumbers(seed);
  const names = Array.from({ length: 50 }, (_, n) => `account-${n}`);
  const accounts = new Map(
    names.map((name, n) => {
      const windows = [
        new SimulatedWindow(5 * hourMs, 100 + n * 16),
        new SimulatedWindow(168 * hourMs, 3_500 + n * 100),
      ];
      const form = limitForms[n % limitForms.length] ?? 'retry_after_ms';
      return [`responses/${name}`, new SimulatedAccount(`responses/${name}`, form, windows, startMs)];
    }),
  );
  const gateway = gatewayWith(names.map((name) => sampleAccount('responses', name)));
  const service = createPoolBrokerService(
    { gateway },
    { logger: createLogger('test', 'silent'), metrics: new Metrics() },
    { store: new MemoryPoolStore(), random: randomNumbers(seed + 1) },
  );
  const report = new SimulationReport(time, accounts, lagAfter);
  const [pools, operator] = [directClient(service.routes[0]), directClient(service.routes[1])];
  const world = { time, pools, operator, accounts, random, observer: report, answerMs: 8_000 };
  return { world, report, endMs: startMs + days * 24 * hourMs };
}

type Simulated = ReturnType<typeof worldOf>;

/** Requests arrive at random, more by day than by night; a third of them belong to sessions. */
function load({ world, endMs }: Simulated, perSecond: number): void {
  const { time, random } = world;
  let sent = 0;
  const next = (): void => {
    const dayShare = ((time.nowMs - startMs) % (24 * hourMs)) / (24 * hourMs);
    const rate = perSecond * (1 - 0.9 * Math.cos(2 * Math.PI * dayShare));
    const waitMs = Math.min(-Math.log(1 - random()) * (1_000 / rate), minuteMs);
    time.after(waitMs, async () => {
      if (time.nowMs >= endMs) return;
      next();
      const session = Math.floor(random() * 300) + Math.floor((time.nowMs - startMs) / hourMs) * 50;
      const affinityKey = random() < 0.33 ? `session ${session}` : '';
      await sendRequest(world, { id: sent++, model: 'gateway/sterk', affinityKey });
    });
  };
  next();
}

interface Storm {
  readonly atHour: number;
  readonly minutes: number;
  readonly result: AttemptResult;
  readonly accounts: number;
  readonly share?: number;
  readonly named?: boolean;
}

const storms: readonly Storm[] = [
  { atHour: 9, minutes: 3, result: AttemptResult.OVERLOADED, accounts: 50 },
  { atHour: 11, minutes: 10, result: AttemptResult.OVERLOADED, accounts: 50, share: 0.4 },
  { atHour: 13, minutes: 5, result: AttemptResult.UNAUTHORIZED, accounts: 40 },
  { atHour: 15, minutes: 60, result: AttemptResult.UNAUTHORIZED, accounts: 8 },
  { atHour: 10, minutes: 2, result: AttemptResult.RATE_LIMITED, accounts: 50, named: true },
  { atHour: 12, minutes: 3, result: AttemptResult.RATE_LIMITED, accounts: 50, named: true },
  { atHour: 14, minutes: 1, result: AttemptResult.RATE_LIMITED, accounts: 50, named: true },
  { atHour: 18, minutes: 20, result: AttemptResult.RATE_LIMITED, accounts: 10 },
  { atHour: 19, minutes: 1, result: AttemptResult.RATE_LIMITED, accounts: 50 },
  { atHour: 20, minutes: 4, result: AttemptResult.SERVER_ERROR, accounts: 50, share: 0.5 },
  { atHour: 21, minutes: 3, result: AttemptResult.NETWORK_ERROR, accounts: 50 },
  { atHour: 22, minutes: 4, result: AttemptResult.SERVER_ERROR, accounts: 50 },
];

const earlyResetHours = [8.5, 11.5, 12.5, 16.5, 17.5];

function weather({ world, report }: Simulated, days: number): void {
  const all = [...world.accounts.values()];
  for (let day = 0; day < days; day++) {
    const dayMs = startMs + day * 24 * hourMs;
    for (const { atHour, minutes, result, accounts, share = 1, named = false } of storms) {
      const atMs = dayMs + atHour * hourMs;
      world.time.at(atMs, async () => {
        all.slice(0, accounts).forEach((account, index) => {
          const untilMs = atMs + minutes * minuteMs + (named ? (accounts - index) * 700 : 0);
          account.meet({ result, share, named, untilMs });
        });
      });
    }
    for (const atHour of earlyResetHours) {
      world.time.at(dayMs + atHour * hourMs, async () => {
        for (const account of all) {
          report.noteEarlyReset(account.id);
          account.resetEarly(world.time.nowMs);
        }
      });
    }
  }
}

/** Every afternoon providers disable five accounts, and a person resolves it before the evening. */
function disabledAccounts({ world, report }: Simulated, days: number): void {
  const victims = [...world.accounts.values()].slice(40, 45);
  for (let day = 0; day < days; day++) {
    const fromMs = startMs + (day * 24 + 16.2) * hourMs;
    const untilMs = fromMs + 1.5 * hourMs;
    world.time.at(fromMs, async () => {
      const problem = AccountProblem.ACCOUNT_DISABLED;
      for (const account of victims) account.meet({ result: AttemptResult.UNAUTHORIZED, share: 1, problem, untilMs });
    });
    world.time.at(untilMs, async () => {
      for (const { id } of victims) {
        report.noteEnabled(id);
        await world.operator.setAccountUse({ accountId: id, use: AccountUse.ACTIVE });
      }
    });
  }
}

function tableOf({ report }: Simulated): string {
  const { results } = report;
  const rows = {
    requests: report.requests,
    served: report.servedRequests,
    'refused: exhausted / unavailable': `${report.exhausted} / ${report.unavailable}`,
    'refused while a usable account was known': report.refusedInError.length,
    'attempts: 429 / refused / overloaded / 5xx / network': [
      AttemptResult.RATE_LIMITED,
      AttemptResult.UNAUTHORIZED,
      AttemptResult.OVERLOADED,
      AttemptResult.SERVER_ERROR,
      AttemptResult.NETWORK_ERROR,
    ]
      .map((result) => results.get(result) ?? 0)
      .join(' / '),
    'probes in a cooldown: all / most in one': `${report.probesInCooldown} / ${report.mostContactsInCooldown}`,
    'taken out of service: times / requests meanwhile': `${report.takenOutOfService} / ${report.sentOutOfService}`,
    'given a time to come back: came / served': `${report.named.came} / ${report.named.served}`,
    'the same, when providers named no time': `${report.guessed.came} / ${report.guessed.served}`,
    'early resets: found / latest after minutes': `${report.recoveriesMs.length} / ${(Math.max(0, ...report.recoveriesMs) / minuteMs).toFixed(1)}`,
  };
  return Object.entries(rows)
    .map(([name, value]) => `  ${name.padEnd(54)}${value}\n`)
    .join('');
}

describe('a pool of fifty accounts over days', () => {
  it('serves whenever an account can, asks none that cannot, and says truly when to come back', async () => {
    const days = 2;
    const simulated = worldOf(7, days);
    const { world, report } = simulated;
    load(simulated, 0.55);
    weather(simulated, days);
    disabledAccounts(simulated, days);
    await world.time.run();
    process.stdout.write(`\n${tableOf(simulated)}\n`);
    expect(report.refusedInError).toEqual([]);
    expect(report.mostContactsInCooldown).toBeLessThanOrEqual(1);
    expect(report.takenOutOfService).toBeGreaterThan(5);
    expect(report.sentOutOfService).toBe(0);
    expect(report.named.came).toBeGreaterThan(500);
    expect(report.named.served / report.named.came).toBeGreaterThanOrEqual(0.99);
    expect(report.unrecovered).toBe(0);
    expect(report.recoveriesMs.length).toBeGreaterThan(10);
    expect(Math.max(...report.recoveriesMs)).toBeLessThanOrEqual(stretched(rules.earlyProbeIntervalMs));
  });
});
