import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { type SimulatorOptions, startSimulator } from './simulator.ts';

/**
 * Runs the simulator until it is interrupted.
 *
 * @returns the exit code of the process.
 */
export async function runCommand(words: readonly string[]): Promise<number> {
  try {
    const command = readCommand(words);
    if (command.kind === 'help') return say(helpText);
    await serveUntilStopped(command.options);
    return 0;
  } catch (thrown) {
    process.stderr.write(`${problemText(thrown)}\n`);
    return 1;
  }
}

export type Command =
  | { readonly kind: 'help' }
  | { readonly kind: 'serve'; readonly options: SimulatorOptions & { readonly host: string; readonly port: number } };

const defaults = { host: '127.0.0.1', port: 8090 };

/** @throws Error when a flag is unknown or its value makes no sense. */
export function readCommand(words: readonly string[]): Command {
  const { values } = parseArgs({ args: [...words], options: flags });
  if (values.help === true) return { kind: 'help' };
  return {
    kind: 'serve',
    options: {
      host: values.host ?? defaults.host,
      port: readNumber('--port', values.port) ?? defaults.port,
      responsesModels: values['responses-model'],
      messagesModels: values['messages-model'],
      responsesBackend: values.subscription === true ? 'subscription' : 'api',
      eventDelayMs: readNumber('--event-delay-ms', values['event-delay-ms']),
    },
  };
}

const flags = {
  host: { type: 'string' },
  port: { type: 'string' },
  'responses-model': { type: 'string', multiple: true },
  'messages-model': { type: 'string', multiple: true },
  subscription: { type: 'boolean' },
  'event-delay-ms': { type: 'string' },
  help: { type: 'boolean', short: 'h' },
} as const;

const helpText = `Usage: npm run simulator -- [flags]

  --host <address>           where to listen (${defaults.host})
  --port <number>            which port to listen on (${defaults.port}; 0: any free one)
  --responses-model <id>     a model of the Responses provider; may be repeated
  --messages-model <id>      a model of the Messages provider; may be repeated
  --subscription             play a subscription backend of the Responses provider: streams only, fewer parameters
  --event-delay-ms <number>  between two events of a stream (0)`;

function readNumber(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d+$/.test(text)) throw new Error(`${flag} must be a whole number, but is "${text}".`);
  return Number(text);
}

async function serveUntilStopped(options: SimulatorOptions): Promise<void> {
  await using simulator = await startSimulator(options);
  say(welcomeText(simulator.url));
  await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
}

function welcomeText(url: string): string {
  return `The simulated providers listen on ${url} (record: ${url}/_simulator/requests). Try:

  curl -N ${url}/v1/responses -H 'authorization: Bearer any-key' -H 'content-type: application/json' \\
    -d '{"model":"gpt-5.5","stream":true,"input":"Hello"}'
`;
}

/** The text for a person whose simulator could not start. */
export function problemText(thrown: unknown): string {
  if (isAddressInUse(thrown)) {
    return `The simulator can't start: port ${thrown.port ?? ''} of ${thrown.address ?? 'this host'} is taken by another process. Stop it, or choose another port with --port.`;
  }
  return `The simulator can't start: ${thrown instanceof Error ? thrown.message : String(thrown)}`;
}

interface AddressInUse extends Error {
  readonly address?: string;
  readonly port?: number;
}

function isAddressInUse(thrown: unknown): thrown is AddressInUse {
  return thrown instanceof Error && 'code' in thrown && thrown.code === 'EADDRINUSE';
}

function say(text: string): 0 {
  process.stdout.write(`${text}\n`);
  return 0;
}
