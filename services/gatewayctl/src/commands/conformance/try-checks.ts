import {
  allChecks,
  type Endpoint,
  heldTo,
  jsonReport,
  junitReport,
  paths,
  type Result,
  runChecks,
  startProviderDouble,
  type Target,
  tableReport,
  withModelsFound,
} from '@gateway/conformance';
import { NotAsItShouldBe, UsageError } from '../../failures.ts';
import { print } from '../../output/print.ts';
import { colored, Table } from '../../output/table.ts';
import type { ConformanceFlags } from '../conformance.ts';

/** `gatewayctl conformance` */
export async function tryChecks(flags: ConformanceFlags): Promise<void> {
  const asked = targetOf(flags);
  const unknown = flags.only?.find((name) => !allChecks.some((check) => check.name === name));
  if (unknown !== undefined) throw new UsageError(`there is no check ${unknown}; --list names all.`);
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
  print(reportOf(flags.output, inOrder));
  const broken = results.filter(({ outcome }) => outcome.kind === 'broken').length;
  if (broken > 0) throw new NotAsItShouldBe(`${broken} of ${total} rules ${broken === 1 ? 'is' : 'are'} broken.`);
}

function targetOf(flags: ConformanceFlags): Target {
  const { url, token, limitedToken, limitedRpm, model = {}, header, secondAccount, providerPort } = flags;
  if (url === undefined || !URL.canParse(url)) {
    throw new UsageError('--url must be the address of the gateway, such as http://127.0.0.1:8080');
  }
  if (token === undefined) throw new UsageError('--token is missing. It can also be in CONFORMANCE_TOKEN.');
  if ((limitedToken === undefined) !== (limitedRpm === undefined)) {
    throw new UsageError('--limited-token and --limited-rpm are given together.');
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
    ? 'no endpoint takes a model that GET /v1/models lists. Name them with --model <endpoint=model>.'
    : `no check is chosen. The endpoints that answer are ${claimed}.`;
}

function reportOf(output: ConformanceFlags['output'], results: readonly Result[]): string {
  if (output === 'json') return jsonReport(results);
  if (output === 'junit') return junitReport(results);
  return tableReport(results, { width: process.stdout.isTTY ? process.stdout.columns : undefined, color: colored });
}

/** One line of a terminal, written over the one before. */
function progress(line: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${line.slice(0, process.stderr.columns - 1)}`);
}

/** `gatewayctl conformance --list` */
export function listChecks(flags: ConformanceFlags): void {
  const { output } = flags;
  if (output === 'junit') throw new UsageError('--list has no JUnit form; choose table or json.');
  const models = Object.fromEntries(Object.keys(paths).map((name) => [name, '']));
  const target: Target = { url: '', token: '', models };
  const chosen = new Set(heldTo({ target, ...chosenBy(flags) }));
  const rows = allChecks
    .filter((each) => chosen.has(each))
    .map(({ name, level, endpoints, needs = [], rule, source }) => ({ name, level, endpoints, needs, rule, source }));
  if (output === 'json') return print(`${JSON.stringify(rows, undefined, 2)}\n`);
  const table = new Table<(typeof rows)[number]>({
    check: ({ name }) => name,
    level: ({ level }) => level,
    needs: { of: ({ needs }) => needs.join(', '), spare: true },
    rule: { of: ({ rule }) => rule, spare: true },
  });
  print(table.linesOf(rows));
}
