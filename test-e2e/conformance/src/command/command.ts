import { Command, InvalidArgumentError, Option } from 'commander';
import { levels } from '../report/result.ts';
import { paths } from '../target/endpoints.ts';
import type { ConformanceFlags } from './conformance-flags.ts';
import { listChecks, tryChecks } from './try-checks.ts';

/** `gateway-conformance`. Throws every failure; usage errors of the parser are CommanderErrors. */
export function conformanceCommand(): Command {
  return new Command('gateway-conformance')
    .description(
      'Checks any gateway against the rules of the formats that it supports, against operational rules, and against the specification of this project. Exits with status 1 if a rule is broken. With --provider-port it also simulates the provider behind the gateway: set the base URL of its accounts to http://127.0.0.1:<port>/v1.',
    )
    .exitOverride()
    .showHelpAfterError('(gateway-conformance --help shows all flags)')
    .option('--url <url>', 'address of the gateway, without /v1; required unless --list is given')
    .addOption(new Option('--token <token>', 'token without limits').env('CONFORMANCE_TOKEN'))
    .addOption(new Option('--limited-token <token>', 'token with a low limit').env('CONFORMANCE_LIMITED_TOKEN'))
    .option('--limited-rpm <requests>', 'requests per minute of that token', wholeNumber(1, 60))
    .option(
      '--model <endpoint=model>',
      'model for an endpoint; otherwise one from GET /v1/models. Repeatable',
      (text: string, models: ConformanceFlags['model'] = {}) => ({ ...models, ...modelFlag(text) }),
    )
    .addOption(many('--endpoint <endpoint>', 'only checks of this endpoint. Repeatable', endpointNames))
    .addOption(many('--level <level>', 'only checks of this level. Repeatable', levels))
    .addOption(many('--only <check>', 'only this check. Repeatable'))
    .option(
      '--header <name=value>',
      'header of every request. Repeatable',
      (text: string, headers: ConformanceFlags['header'] = {}) => ({ ...headers, ...pair(text) }),
    )
    .option('--provider-port <port>', 'port of the simulated provider', wholeNumber(1, 65_535))
    .option('--second-account', 'the gateway has two accounts of that provider')
    .option('--list', 'print the checks and their rules, and run none')
    .addOption(
      new Option('-o, --output <format>', 'format of the report').choices(['table', 'json', 'junit']).default('table'),
    )
    .action((flags: ConformanceFlags) => (flags.list ? listChecks(flags) : tryChecks(flags)));
}

const endpointNames = Object.keys(paths);

function modelFlag(text: string): ConformanceFlags['model'] {
  const [[endpoint = '', model = ''] = []] = Object.entries(pair(text));
  if (endpointNames.some((name) => name === endpoint)) return { [endpoint]: model };
  throw new InvalidArgumentError(`Endpoints are ${endpointNames.join(', ')}.`);
}

function pair(text: string): Readonly<Record<string, string>> {
  const { name = '', value = '' } = /^(?<name>[^=]+)=(?<value>.*)$/s.exec(text)?.groups ?? {};
  if (name === '') throw new InvalidArgumentError('It must be name=value.');
  return { [name]: value };
}

/** A flag that may be given more than once. */
function many(flags: string, description: string, choices?: readonly string[]): Option {
  return new Option(flags, description).argParser((text: string, before: readonly string[] = []) => {
    if (choices?.includes(text) ?? true) return [...before, text];
    throw new InvalidArgumentError(`Choices are ${choices?.join(', ')}.`);
  });
}

function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (text.trim() !== '' && Number.isSafeInteger(value) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
  };
}
