import { text } from 'node:stream/consumers';
import { type Client, Code, ConnectError } from '@connectrpc/connect';
import type { Environment } from '@gateway/config/env-reader';
import { withVisibleTexts } from '@gateway/presentation/visible-text';
import { AccountService } from '@gateway/proto/admin/v1/account_service_pb.js';
import { GroupService } from '@gateway/proto/admin/v1/group_service_pb.js';
import { PoolService } from '@gateway/proto/admin/v1/pool_service_pb.js';
import { SessionService } from '@gateway/proto/admin/v1/session_service_pb.js';
import { type Replica, Severity, SystemService } from '@gateway/proto/admin/v1/system_service_pb.js';
import { readBuild } from '@gateway/telemetry/build';
import { epochMs, timeoutSignal } from '@gateway/time';
import { Command } from 'commander';
import type { AdminConnection, RunningGateway } from '../connection/admin-connection.ts';
import { findAdminToken } from '../connection/admin-token.ts';
import { findingText } from '../failure-text.ts';
import { NotAsItShouldBe } from '../failures.ts';
import { formatOf } from '../output/document-format.ts';
import { type OutputFlags, print, withOutput } from '../output/print.ts';
import { type Color, colored } from '../output/table.ts';
import { countText, durationText } from '../output/words.ts';
import type { CommandContext } from './context.ts';
import { type Disk, diskFindings, disksOf, ownDisk } from './doctor/disk-findings.ts';
import { type Finding, fine, note, warning, wrong } from './doctor/finding.ts';
import { poolFindings, probeFindings } from './doctor/pool-findings.ts';
import { priceFindings } from './doctor/price-findings.ts';
import { holderText } from './session.ts';

const timeoutMs = 10_000;

/** `gatewayctl doctor` */
export function doctorCommand({ env, connect }: CommandContext): Command {
  return withOutput(new Command('doctor'))
    .description(
      'Checks every part of the gateway: sign-in, clocks, versions, replicas, disks, certificates, pools and prices. Suggests fixes, and exits with status 1 if a check fails.',
    )
    .option('--probe', "also ask each account's provider for its model list, which is free of charge")
    .action(async ({ output, probe = false }: OutputFlags & { readonly probe?: boolean }) => {
      await using admin = await connect({ running: true });
      const findings = await examine(env, admin, probe);
      if (output === 'table') print(withVisibleTexts(findings).map(lineOf).join(''));
      else print((await formatOf(output)).document(findings));
      const wrong = findings.filter(({ state }) => state === 'warning' || state === 'wrong').length;
      if (wrong > 0) throw new NotAsItShouldBe(`${wrong} of ${findings.length} checks failed.`);
    });
}

/** The first checks come before the others: without a response there is nothing more to check. */
async function examine(env: Environment, admin: AdminConnection, probe: boolean): Promise<readonly Finding[]> {
  const { gateway } = admin;
  if (gateway === undefined) return [];
  const own = await ownDisk(env);
  const here = diskFindings(own, []);
  const reached = await reach(gateway);
  if (reached.some(({ state }) => state === 'wrong')) return [...reached, ...here];
  const signedIn = await signIn(env, admin, gateway);
  if (signedIn.state === 'wrong') return [...reached, signedIn, ...(await readinessOf(gateway)), ...here];
  const failure = (thrown: unknown) => wrong('gateway', findingText(thrown, gateway.url));
  const pools = admin.clientOf(PoolService);
  const looked = await Promise.all([
    systemOf(admin.clientOf(SystemService), own).catch((thrown: unknown) => [...here, failure(thrown)]),
    poolsOf(pools).catch((thrown: unknown) => [failure(thrown)]),
    pricesOf(admin.clientOf(GroupService)).catch((thrown: unknown) => [failure(thrown)]),
    ...(probe ? [accountsOf(admin.clientOf(AccountService), pools).catch((thrown: unknown) => [failure(thrown)])] : []),
  ]);
  return [...reached, signedIn, ...looked.flat()];
}

/** Whether the gateway answers, and whether its clock agrees with this one. */
async function reach({ url, get }: RunningGateway): Promise<readonly Finding[]> {
  try {
    const beganAtMs = epochMs();
    const answer = await get('/livez', timeoutSignal(timeoutMs));
    answer.resume();
    const tookMs = epochMs() - beganAtMs;
    if (answer.statusCode !== 200) {
      const remedy = 'Set GATEWAY_ADMIN_URL to the address of the admin service.';
      return [wrong('address', `${url} responds with status ${answer.statusCode}`, remedy)];
    }
    const finding = fine('address', `${url} responds in ${durationText(tookMs)}`);
    return [finding, ...clockOf(answer.headers.date, beganAtMs + tookMs / 2)];
  } catch (thrown) {
    const remedy = 'Start the gateway, or set GATEWAY_ADMIN_URL to the address of its admin service.';
    return [wrong('address', `nothing answers at ${url} (${ConnectError.from(thrown).rawMessage})`, remedy)];
  }
}

/** Why the admin service is not ready, which it tells without a sign-in. */
async function readinessOf({ get }: RunningGateway): Promise<readonly Finding[]> {
  const answer = await get('/readyz', timeoutSignal(timeoutMs)).catch(() => undefined);
  if (answer === undefined) return [];
  const reason = (await text(answer)).trim();
  return answer.statusCode === 503 ? [wrong('gateway', `the admin service is not ready: ${reason}`)] : [];
}

/** The header has whole seconds. */
function clockOf(date: string | undefined, hereMs: number): readonly Finding[] {
  const offMs = Math.abs(Date.parse(date ?? '') + 500 - hereMs);
  if (Number.isNaN(offMs)) return [];
  if (offMs < 5_000) return [fine('clock', "the gateway's clock matches this machine's")];
  const remedy = 'Synchronize both clocks with NTP: days, resets and expiries depend on them.';
  return [warning('clock', `the gateway's clock is ${durationText(offMs)} off this machine's`, remedy)];
}

async function signIn(env: Environment, admin: AdminConnection, { url }: RunningGateway): Promise<Finding> {
  const token = await findAdminToken(env, url);
  try {
    const { session } = await admin.clientOf(SessionService).getSession({}, { timeoutMs });
    return fine('sign-in', `as ${holderText(session)}, with ${token?.origin ?? 'no token'}`);
  } catch (thrown) {
    const isRefused = thrown instanceof ConnectError && thrown.code === Code.Unauthenticated;
    const text = token === undefined ? 'no token' : `the token from ${token.origin} is rejected`;
    if (isRefused) return wrong('sign-in', text, 'Run gatewayctl login with an operator token.');
    return wrong('sign-in', findingText(thrown, url));
  }
}

async function systemOf(system: Client<typeof SystemService>, own: Disk | undefined): Promise<readonly Finding[]> {
  const [{ overview }, { replicas }] = await Promise.all([
    system.getOverview({}, { timeoutMs }),
    system.listReplicas({}, { timeoutMs }),
  ]);
  const attention = (overview?.attention ?? []).map(({ severity, text }) =>
    severity === Severity.CRITICAL ? wrong('gateway', text) : warning('gateway', text),
  );
  const services = new Set(replicas.map(({ service }) => service)).size;
  // The attention list already has replicas that are not ready.
  const areReady = replicas.every(({ ready }) => ready);
  const all = areReady
    ? [fine('replicas', `${countText(replicas.length, 'replica')} of ${countText(services, 'service')} ready`)]
    : [];
  const looked = [
    ...clocksOf(replicas),
    versionsOf(replicas),
    ...diskFindings(own, disksOf(replicas)),
    ...certificatesOf(replicas),
  ];
  const notes = (overview?.notes ?? []).map((each) => note('people', each, ''));
  return [...all, ...looked, ...notes, ...attention];
}

/** The admin service compares them with its own clock, minus the time of the request. */
function clocksOf(replicas: readonly Replica[]): readonly Finding[] {
  const known = replicas.filter(({ figures }) => figures.clock_offset_seconds !== undefined);
  const off = known.filter(({ figures }) => Math.abs(figures.clock_offset_seconds ?? 0) >= 1);
  if (known.length > 0 && off.length === 0)
    return [fine('clocks', `${countText(known.length, 'clock')} within a second of the admin service's`)];
  const remedy = 'Synchronize the clocks of all machines with NTP: days, resets and expiries depend on them.';
  return off.map(({ service, address, figures: { clock_offset_seconds: seconds = 0 } }) => {
    const text = `the clock of ${service} at ${address} is ${durationText(Math.abs(seconds) * 1_000)} ${seconds > 0 ? 'ahead of' : 'behind'} the admin service's`;
    return warning('clocks', text, remedy);
  });
}

function versionsOf(replicas: readonly Replica[]): Finding {
  const versions = [...new Set(replicas.map(({ version }) => version).filter((version) => version !== ''))].toSorted();
  const own = readBuild().version;
  const [first = own, ...others] = versions;
  if (others.length > 0) {
    const remedy = 'Finish the rollout: replace the replicas of the older version.';
    return warning('versions', `replicas run ${versions.join(' and ')}`, remedy);
  }
  if (first !== own) {
    const text = `the gateway runs ${first}; this is gatewayctl ${own}`;
    return warning('versions', text, 'Use gatewayctl of the same version as the gateway.');
  }
  return fine('versions', `all replicas run ${own}, like this gatewayctl`);
}

/** The attention list already has certificates that expire soon. */
function certificatesOf(replicas: readonly Replica[]): readonly Finding[] {
  const ends = replicas.flatMap(({ figures }) => figures.certificate_expires_at ?? []);
  const leftMs = Math.min(...ends) * 1_000 - epochMs();
  if (ends.length === 0 || leftMs <= 0) return [];
  return [
    fine('certificates', `the first of ${countText(ends.length, 'certificate')} expires in ${durationText(leftMs)}`),
  ];
}

async function poolsOf(pools: Client<typeof PoolService>): Promise<readonly Finding[]> {
  const { overview } = await pools.listPools({}, { timeoutMs });
  return poolFindings(overview?.pools ?? []);
}

async function pricesOf(groups: Client<typeof GroupService>): Promise<readonly Finding[]> {
  return priceFindings(await groups.listGroups({}, { timeoutMs }));
}

async function accountsOf(
  accounts: Client<typeof AccountService>,
  pools: Client<typeof PoolService>,
): Promise<readonly Finding[]> {
  const [{ probes }, { overview }] = await Promise.all([
    accounts.probeAccounts({}, { timeoutMs: probesTimeoutMs }),
    pools.listPools({}, { timeoutMs }),
  ]);
  return probeFindings(probes, overview?.pools.flatMap((pool) => pool.accounts) ?? []);
}

/** More than the minute within which the admin service probes all accounts. */
const probesTimeoutMs = 70_000;

const marks: Readonly<Record<Finding['state'], readonly [string, Color]>> = {
  fine: ['✓', 'green'],
  note: ['·', 'dim'],
  warning: ['!', 'yellow'],
  wrong: ['✗', 'red'],
};

function lineOf({ about, state, text, remedy }: Finding): string {
  const [mark, color] = marks[state];
  return `${colored(mark, color)} ${about.padEnd(12)}  ${text}${remedy && `\n${' '.repeat(16)}${remedy}`}\n`;
}
