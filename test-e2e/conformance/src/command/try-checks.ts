import { styleText } from 'node:util';
import { allChecks } from '../all-checks.ts';
import { startProviderDouble } from '../double/provider-double.ts';
import { jsonList, tableList } from '../report/check-list.ts';
import { jsonReport, junitReport } from '../report/program-reports.ts';
import type { Result } from '../report/result.ts';
import { type TableOptions, tableReport } from '../report/table-report.ts';
import { heldTo, runChecks } from '../run.ts';
import { type Endpoint, paths, type Target } from '../target/endpoints.ts';
import { withModelsFound } from '../target/find-models.ts';
import type { ConformanceFlags } from './conformance-flags.ts';
import { BrokenRules, UsageError } from './failures.ts';

/** Runs the chosen checks and prints the report. */
export async function tryChecks(flags: ConformanceFlags): Promise<void> {
  const asked = targetOf(flags);
  const unknown = flags.only?.find((name) => !allChecks.some((check) => check.name === name));
  if (unknown !== undefined) throw new UsageError(`no check named ${unknown}. Use --list to see all checks.`);
  await using stack = new AsyncDisposableStack();
  const { providerPort: port } = flags;
  const double = port === undefined ? undefined : stack.use(await startProviderDouble({ port }));
  const endpoints = flags.endpoint ?? (Object.keys(paths) as Endpoint[]);
  const target = await withModelsFound(asked, endpoints, AbortSignal.timeout(60_000));
  const options = { target, double, ...chosenBy(flags) };
  const total = heldTo(options).length;
  if (total === 0) throw new UsageError(nothingToCheck(target));
  const results: Result[] = [];
  for await (const result of runChecks(options)) {
    results.push(result);
    progress(`${results.length} of ${total} ${result.check.name}`);
  }
  progress('');
  const inOrder = results.toSorted((one, other) => allChecks.indexOf(one.check) - allChecks.indexOf(other.check));
  process.stdout.write(reportOf(flags.output, inOrder));
  const broken = results.filter(({ outcome }) => outcome.kind === 'broken').length;
  if (broken > 0) throw new BrokenRules(`${broken} of ${total} rules broken.`);
}

function targetOf(flags: ConformanceFlags): Target {
  const { url, token, limitedToken, limitedRpm, model = {}, header, secondAccount, providerPort } = flags;
  if (url === undefined || !URL.canParse(url)) {
    throw new UsageError('--url must be the address of the gateway, such as http://127.0.0.1:8080');
  }
  if (token === undefined) throw new UsageError('--token is missing. You can also set CONFORMANCE_TOKEN.');
  if ((limitedToken === undefined) !== (limitedRpm === undefined)) {
    throw new UsageError('--limited-token and --limited-rpm must be used together.');
  }
  if (secondAccount && providerPort === undefined) throw new UsageError('--second-account needs --provider-port.');
  return {
    url: url.replace(/\/(v1\/?)?$/, ''),
    ...{ token, limitedToken, limitedRequestsPerMinute: limitedRpm },
    ...{ models: model, headers: header, hasSecondAccount: secondAccount === true },
  };
}

function chosenBy({ level: levels, endpoint: endpoints, only }: ConformanceFlags) {
  return { checks: allChecks, levels, endpoints, only };
}

function nothingToCheck({ models }: Target): string {
  const claimed = Object.keys(models).join(', ');
  return claimed === ''
    ? 'no endpoint supports a model from GET /v1/models. Set models with --model <endpoint=model>.'
    : `no check selected. The supported endpoints are ${claimed}.`;
}

function reportOf(output: ConformanceFlags['output'], results: readonly Result[]): string {
  if (output === 'json') return jsonReport(results);
  if (output === 'junit') return junitReport(results);
  return tableReport(results, terminal());
}

/** Colors are used only on a terminal, and not with NO_COLOR. */
function terminal(): TableOptions {
  return {
    width: process.stdout.isTTY ? process.stdout.columns : undefined,
    color: (text, color) => styleText(color, text, { stream: process.stdout }),
  };
}

/** One line of a terminal, which replaces the one before. */
function progress(line: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${line.slice(0, process.stderr.columns - 1)}`);
}

/** `--list` */
export function listChecks(flags: ConformanceFlags): void {
  const { output } = flags;
  if (output === 'junit') throw new UsageError('--list has no JUnit form; choose table or json.');
  const models = Object.fromEntries(Object.keys(paths).map((name) => [name, '']));
  const target: Target = { url: '', token: '', models };
  const chosen = new Set(heldTo({ target, ...chosenBy(flags) }));
  const checks = allChecks.filter((each) => chosen.has(each));
  process.stdout.write(output === 'json' ? jsonList(checks) : tableList(checks, terminal()));
}
