import { parseArgs } from 'node:util';
import { type SystemName, systemNames } from './systems/system.ts';

export interface BenchOptions {
  readonly quick: boolean;
  /** Worker processes of the all-in-one, as in its own setting. */
  readonly workers: string;
  /** Texts, of which a case's name must contain one; empty: all cases. */
  readonly cases: readonly string[];
  readonly systems: readonly SystemName[];
  readonly rounds: number;
  readonly measureMs: number;
  readonly warmUpMs: number;
  /**
   * How long a system runs at a time before the first round of a case: code reaches its speed only
   * after thousands of requests.
   */
  readonly settleMs: number;
  /** The most runs of this length. */
  readonly mostSettlingTurns: number;
  readonly outputFolder: string;
  /** Profiles the gateway under every case instead of comparing it. */
  readonly profile: boolean;
  /** A remark beside the figures, wherever they are shown: "busy machine". */
  readonly remark: string | undefined;
}

export const usage = `npm run bench -- [options]
  --quick              the cases of every day, in a few minutes
  --case <text>        only cases whose name has this text, growth, tracing, counts, fairness, start, limiter, ingest; may be repeated
  --topology <name>    only all-in-one, or only services, beside direct, nginx, bare-node and portkey; may be repeated
  --workers <n>        the all-in-one with so many workers, all on its one core (1)
  --rounds <n>         paired rounds of each case (3; 2 with --quick)
  --seconds <n>        measured time of one round (3; 1 with --quick)
  --out <folder>       where results go (bench-results)
  --profile            profiles the gateway's processes under each case and prints where time goes
  --remark <text>      stands above the figures
npm run bench -- ledger measures the usage ledger instead, and -- request-log the log of requests: see docs/operate/database-costs.md.
npm run bench -- console measures pages of the console that are open while requests go through: see docs/develop/performance.md.
BENCH_PORTKEY=<folder> names a folder with @portkey-ai/gateway, to be measured as well.
`;

/** @throws Error that describes the invalid arguments. */
export function readOptions(args: readonly string[]): BenchOptions | 'help' {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: 'boolean', default: false },
      workers: { type: 'string', default: '1' },
      case: { type: 'string', multiple: true, default: [] },
      topology: { type: 'string', multiple: true, default: [] },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      out: { type: 'string', default: 'bench-results' },
      profile: { type: 'boolean', default: false },
      remark: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return 'help';
  return {
    quick: values.quick,
    workers: values.workers,
    cases: values.case,
    systems: systemsOf(values.topology),
    rounds: positive('--rounds', values.rounds, values.quick ? 2 : 3, 100),
    measureMs: positive('--seconds', values.seconds, values.quick ? 1 : 3, 600) * 1_000,
    warmUpMs: values.quick ? 500 : 1_000,
    settleMs: values.quick ? 4_000 : 8_000,
    mostSettlingTurns: values.quick ? 6 : 15,
    outputFolder: values.out,
    profile: values.profile,
    remark: values.remark,
  };
}

function systemsOf(topologies: readonly string[]): readonly SystemName[] {
  const known: readonly string[] = ['all-in-one', 'services'];
  const unknown = topologies.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new Error(`--topology is one of ${known.join(', ')}, not ${unknown}`);
  return systemNames.filter((name) => topologies.length === 0 || !known.includes(name) || topologies.includes(name));
}

function positive(option: string, text: string | undefined, otherwise: number, most: number): number {
  if (text === undefined) return otherwise;
  const value = Number(text);
  if (!(value > 0 && value <= most)) throw new Error(`${option} is a number from 0 to ${most}, not ${text}`);
  return value;
}
