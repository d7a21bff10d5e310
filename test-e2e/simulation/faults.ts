import type { Simulator } from '@gateway/simulator';
import type { Trouble } from './checkers/evidence.ts';
import { type Operator, tokenChangeKinds } from './clients/operator.ts';
import { troubleOf } from './clients/providers.ts';
import { type Cluster, drainMs } from './gateway/cluster.ts';
import { providerName } from './gateway/simulated-pools.ts';
import { syncIntervalMs } from './stores/jet-stream.ts';
import { databaseTroubles } from './stores/ledger-database.ts';
import type { Chance } from './world/seeded.ts';

/** The kinds of faults that a run may have. */
export const faultKinds = [
  'kill',
  'pause',
  'restart',
  'reset',
  'cut',
  'clock',
  'provider',
  'redelivery',
  'redis-failover',
  'nats-power',
  'nats-election',
  'nats-unanswered',
  'database',
  'disk-full',
  'edge-power',
  ...tokenChangeKinds,
  'reload',
] as const;

export type FaultKind = (typeof faultKinds)[number];

/** The kinds that a setting names: `all`, `none`, or some of them. @throws for an unknown one. */
export function chosenKinds(names: string): readonly FaultKind[] {
  if (names === 'all') return faultKinds;
  return names.split(',').flatMap((name) => {
    const kind = faultKinds.find((each) => each === name);
    if (kind !== undefined) return [kind];
    if (names === 'none') return [];
    throw new Error(`--faults: ${name} is not one of all, none, ${faultKinds.join(', ')}`);
  });
}

/** One fault of a plan, decided before the run: a run with a part of a plan can be repeated. */
export interface Fault {
  readonly number: number;
  readonly kind: FaultKind;
  /** After the start of the traffic. */
  readonly atMs: number;
  readonly forMs: number;
  /** The process that it hits; for `cut` and `reset`, with the other one. */
  readonly target: string;
  readonly other: string;
  /** By how much a clock jumps, or how much of the past is lost. */
  readonly amountMs: number;
}

export interface FaultPlanOptions {
  readonly chance: Chance;
  readonly kinds: readonly FaultKind[];
  readonly durationMs: number;
  /** Mean pause between two faults. */
  readonly everyMs: number;
  readonly processes: readonly string[];
}

/** Which faults happen when, to whom. */
export function planFaults({ chance, kinds, durationMs, everyMs, processes }: FaultPlanOptions): readonly Fault[] {
  const faults: Fault[] = [];
  if (kinds.length === 0) return faults;
  for (let atMs = chance.pauseMs(everyMs); atMs < durationMs; atMs += chance.pauseMs(everyMs)) {
    const forMs = Math.ceil(chance.pauseMs(chance.happens(0.2) ? 20_000 : 2_000));
    const target = chance.pick(processes);
    const other = chance.pick(processes.filter((name) => name !== target));
    const amountMs = chance.between(1, chance.happens(0.2) ? 3_600_000 : 900) * (chance.happens(0.5) ? 1 : -1);
    faults.push({
      number: faults.length + 1,
      kind: chance.pick(kinds),
      atMs: Math.floor(atMs),
      forMs,
      target,
      other,
      amountMs,
    });
  }
  return faults;
}

/**
 * When a fault keeps requests from an answer. A change of a token or of the configuration never
 * does.
 */
export function troubleBy({ kind, atMs, forMs }: Fault, startMs: number): Trouble | undefined {
  if (kind === 'reload' || tokenChangeKinds.some((each) => each === kind)) return undefined;
  return { fromMs: startMs + atMs, untilMs: startMs + atMs + (kind === 'restart' ? drainMs : forMs) };
}

export interface FaultScene {
  readonly cluster: Cluster;
  readonly providers: Simulator;
  readonly operator: Operator;
  readonly tell: (who: string, what: string) => void;
}

/** Plans a fault, and its end, on the world's time. */
export function arrangeFault(fault: Fault, scene: FaultScene): void {
  const { world } = scene.cluster;
  world.plan(fault.atMs, () => beginFault(fault, scene));
}

function beginFault(
  { number, kind, target, other, forMs, amountMs }: Fault,
  { cluster, providers, operator, tell }: FaultScene,
): void {
  const { world, network } = cluster;
  const { stream, ledger, disks } = cluster.backends;
  const process = cluster.processOf(target);
  const later = (act: () => void) => world.plan(forMs, act);
  const say = (what: string) => tell(target, `fault ${number}: ${what}`);
  switch (kind) {
    case 'kill': {
      if (process === undefined || process.state === 'killed') return;
      const chance = world.seeded.of(`kill ${number}`);
      const end = () => {
        say(`killed, starts again after ${forMs} ms`);
        cluster.kill(target);
        later(() => cluster.startIfKilled(target));
      };
      // Between two events, or in the middle of the next one.
      if (chance.happens(0.5)) process.dieSoon(chance.between(1, 60), end);
      else end();
      return;
    }
    case 'pause': {
      if (process?.state !== 'running') return;
      say(`paused for ${forMs} ms`);
      process.pause();
      later(() => process.state === 'paused' && world.resume(process));
      return;
    }
    case 'restart':
      say('drains and starts again');
      return cluster.restart(target);
    case 'reset':
      if (network.reset(target, other)) say(`its connection with ${other} is reset`);
      return;
    case 'cut':
      say(`cut off from ${other} for ${forMs} ms`);
      network.cut(target, other);
      later(() => network.heal(target, other));
      return;
    case 'clock':
      if (process === undefined) return;
      say(`its clock is off by ${amountMs} ms for ${forMs} ms`);
      process.clockOffsetMs = amountMs;
      later(() => {
        process.clockOffsetMs = 0;
      });
      return;
    case 'provider': {
      const script = troubleOf(world.seeded.of(`provider trouble ${number}`));
      tell(providerName, `fault ${number}: ${JSON.stringify(script)}`);
      providers.faults.add(script);
      return;
    }
    case 'redelivery':
      tell('nats-1', `fault ${number}: delivers again what is not acknowledged`);
      return stream.redeliver();
    case 'redis-failover': {
      const lostMs = Math.min(1_000, Math.abs(amountMs));
      tell('redis-1', `fault ${number}: fails over, and the last ${lostMs} ms are lost`);
      cluster.kill('redis-1');
      cluster.backends.redis.failOver(lostMs);
      cluster.startProcess('redis-1');
      return;
    }
    case 'nats-power': {
      const lostMs = Math.min(syncIntervalMs, Math.abs(amountMs));
      tell('nats-1', `fault ${number}: its power fails for ${forMs} ms, and the last ${lostMs} ms are lost`);
      cluster.kill('nats-1');
      const before = stream.lost.length;
      stream.losePower(lostMs);
      tell('nats-1', `${stream.lost.length - before} messages are lost that no one had read`);
      later(() => cluster.startIfKilled('nats-1'));
      return;
    }
    case 'nats-election':
    case 'nats-unanswered': {
      const stores = kind === 'nats-unanswered';
      tell('nats-1', `fault ${number}: ${stores ? 'its answers are lost' : 'elects a leader'} for ${forMs} ms`);
      return stream.fallSilent(forMs, stores);
    }
    case 'database': {
      const chance = world.seeded.of(`database trouble ${number}`);
      const trouble = chance.pick(databaseTroubles);
      tell('database', `fault ${number}: ${trouble} for ${forMs} ms`);
      ledger.begin(trouble, chance);
      later(() => ledger.end(chance));
      return;
    }
    case 'disk-full': {
      const edge = edgeOf(target);
      tell(edge, `fault ${number}: its disk is full for ${forMs} ms`);
      disks.fill(edge, world.nowMs);
      later(() => disks.free(world.nowMs, edge));
      return;
    }
    case 'edge-power': {
      const edge = edgeOf(target);
      tell(edge, `fault ${number}: its power fails for ${forMs} ms`);
      cluster.losePower(edge);
      later(() => cluster.startIfKilled(edge));
      return;
    }
    case 'reload': {
      if (!cluster.gatewayFile.isSettled) return;
      const variant = world.seeded.of(`reload ${number}`).pick(['without claude', 'fewer places', 'broken'] as const);
      tell('operator', `fault ${number}: gateway.yaml is ${variant} for ${forMs + reloadedForMs} ms`);
      cluster.gatewayFile.write(variant);
      return void world.plan(forMs + reloadedForMs, () => cluster.gatewayFile.write('usual'));
    }
    case 'token':
    case 'revoke':
    case 'limit':
    case 'group': {
      const chance = world.seeded.of(`token of ${number}`);
      const first = kind === 'group' ? operator.tokens.length - operator.groups.length : 0;
      const plan = chance.between(first, operator.tokens.length - 1);
      tell('operator', `fault ${number}: changes token ${plan + 1} by ${kind}`);
      return operator.change(kind, plan, forMs, chance.between(1, 20));
    }
  }
}

/** Longer than brokers need to use another text. */
const reloadedForMs = 5_000;

/** A fault of an edge hits one of them, whatever its target is. */
function edgeOf(target: string): string {
  return target.endsWith('2') ? 'edge-2' : 'edge-1';
}
