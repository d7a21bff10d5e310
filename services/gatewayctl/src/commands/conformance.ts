import type { Endpoint, Level } from '@gateway/conformance';
import { Command, InvalidArgumentError, Option } from 'commander';
import { wholeNumber } from './flags.ts';

/** The flags of `gatewayctl conformance`. */
export interface ConformanceFlags {
  readonly url?: string;
  readonly token?: string;
  readonly limitedToken?: string;
  readonly limitedRpm?: number;
  readonly model?: Partial<Readonly<Record<Endpoint, string>>>;
  readonly endpoint?: readonly Endpoint[];
  readonly level?: readonly Level[];
  readonly only?: readonly string[];
  readonly header?: Readonly<Record<string, string>>;
  readonly providerPort?: number;
  readonly secondAccount?: true;
  readonly list?: true;
  readonly output: 'table' | 'json' | 'junit';
}

/** `gatewayctl conformance` */
export function conformanceCommand(): Command {
  return new Command('conformance')
    .description(
      'Checks any gateway against the rules of the formats that it claims, what it does in operation, and this specification; exits 1 when a rule is broken. With --provider-port it plays the provider behind the gateway, whose base URL must be http://127.0.0.1:<port>/v1.',
    )
    .option('--url <url>', 'of the gateway, without /v1; required but for --list')
    .addOption(new Option('--token <token>', 'of a caller without limits').env('CONFORMANCE_TOKEN'))
    .addOption(
      new Option('--limited-token <token>', 'of a caller with few requests a minute').env('CONFORMANCE_LIMITED_TOKEN'),
    )
    .option('--limited-rpm <requests>', 'how many requests a minute that one has', wholeNumber(1, 60))
    .option(
      '--model <endpoint=model>',
      'what to ask on an endpoint; found from GET /v1/models where not given. Repeatable',
      (text: string, models: ConformanceFlags['model'] = {}) => ({ ...models, ...modelFlag(text) }),
    )
    .addOption(many('--endpoint <endpoint>', 'checks of these alone. Repeatable', endpointNames))
    .addOption(many('--level <level>', 'checks of these alone. Repeatable', levelNames))
    .addOption(many('--only <check>', 'this check alone. Repeatable'))
    .option(
      '--header <name=value>',
      'sent with every request. Repeatable',
      (text: string, headers: ConformanceFlags['header'] = {}) => ({ ...headers, ...pair(text) }),
    )
    .option('--provider-port <port>', 'where to play the provider', wholeNumber(1, 65_535))
    .option('--second-account', 'that provider is reached through two accounts of the gateway')
    .option('--list', 'the checks and their rules, without trying them')
    .addOption(
      new Option('-o, --output <format>', 'for people, or for programs')
        .choices(['table', 'json', 'junit'])
        .default('table'),
    )
    .action(async (flags: ConformanceFlags) => {
      // With all that it takes to play a provider: the gateway itself starts without it.
      const { listChecks, tryChecks } = await import('./conformance/try-checks.ts');
      await (flags.list ? listChecks(flags) : tryChecks(flags));
    });
}

const endpointNames = [
  'chat',
  'messages',
  'count-tokens',
  'responses',
  'models',
  'usage',
] satisfies readonly Endpoint[];
const levelNames = ['formats', 'operations', 'specification'] satisfies readonly Level[];

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

/** A flag that may stand more than once. */
function many(flags: string, description: string, choices?: readonly string[]): Option {
  return new Option(flags, description).argParser((text: string, before: readonly string[] = []) => {
    if (choices?.includes(text) ?? true) return [...before, text];
    throw new InvalidArgumentError(`Choices are ${choices?.join(', ')}.`);
  });
}
