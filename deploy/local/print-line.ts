import { type ServiceName, serviceNames } from '@gateway/testkit';

const widestName = Math.max(...serviceNames.map(({ length }) => length));

/** A line that a service logged, behind its name. */
export function printLine(service: ServiceName, line: string): void {
  print(service, line);
}

/** A service ended that nobody stopped. Nothing starts it again: whoever tries the gateway out wants to see it missing. */
export function printEnd(service: ServiceName, how: string): void {
  print('start-services', `${service} ${how}. The others go on without it. Press Ctrl-C to stop them.`);
}

export function printProgress(text: string): void {
  print('start-services', text);
}

function print(name: string, text: string): void {
  process.stderr.write(`${name.padEnd(widestName)} | ${text}\n`);
}
