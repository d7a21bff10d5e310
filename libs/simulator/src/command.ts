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
    const options = readCommand(words);
    if (options === 'help') process.stdout.write(`${helpText}\n`);
    else await serveUntilStopped(options);
    return 0;
  } catch (thrown) {
    process.stderr.write(`${problemText(thrown)}\n`);
    return 1;
  }
}

const defaults = { host: '127.0.0.1', port: 8090 };

/** @throws Error when a flag is unknown or its value is invalid. */
export function readCommand(words: readonly string[]): SimulatorOptions | 'help' {
  const { values } = parseArgs({ args: [...words], options: flags });
  if (values.help === true) return 'help';
  return {
    host: values.host ?? defaults.host,
    port: readNumber('--port', values.port) ?? defaults.port,
    responsesModels: values['responses-model'],
    messagesModels: values['messages-model'],
    responsesBackend: values.subscription === true ? 'subscription' : 'api',
    eventDelayMs: readNumber('--event-delay-ms', values['event-delay-ms']),
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
  const { url } = simulator;
  process.stdout.write(`The simulated providers listen on ${url} (record: ${url}/_simulator/requests). Try:

  curl -N ${url}/v1/responses -H 'authorization: Bearer any-key' -H 'content-type: application/json' \\
    -d '{"model":"gpt-5.5","stream":true,"input":"Hello"}'

`);
  await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
}

/** Explains to a person why the simulator could not start. */
export function problemText(thrown: unknown): string {
  const { code, port, address, message } = Object(thrown);
  const problem =
    code === 'EADDRINUSE'
      ? `port ${port} of ${address} is taken by another process. Stop it, or choose another port with --port.`
      : String(message ?? thrown);
  return `The simulator can't start: ${problem}`;
}
