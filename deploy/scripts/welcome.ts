import { firstCurl, nextStepLines, providerLines } from '@gateway/presentation';
import { readableLine } from '@gateway/telemetry';
import { type ServiceName, serviceNames } from '@gateway/testkit';
import { certificateFiles } from './dev-certificates.ts';
import type { RunningService } from './run-services.ts';

export interface Welcome {
  /** The first process of each. */
  readonly services: Readonly<Record<ServiceName, RunningService>>;
  /** Where Redis, NATS and Postgres listen, by the variable of each. */
  readonly addresses: Readonly<Record<'REDIS_URL' | 'NATS_URL' | 'DATABASE_URL', string>>;
  /** Absent on a shared database. */
  readonly token: string | undefined;
  /** The token of the first operator for the console. Empty: there are operators. */
  readonly signInWith: string;
  /** The folder of the certificates, if services speak TLS. */
  readonly certificates: string | undefined;
  /** Set if no provider account is configured. */
  readonly simulatorUrl: string | undefined;
}

/** The text when the services run: their addresses, and a line to paste. */
export function welcomeText({ services, addresses, token, signInWith, simulatorUrl, certificates }: Welcome): string {
  const { publicUrl: baseUrl = '' } = services['edge-router'];
  // For tests and the bench it may be left out.
  const admin = Object.keys(services).includes('admin') ? services.admin : undefined;
  const lines = [
    '',
    `  The gateway listens on  ${baseUrl}`,
    ...consoleLines(admin, signInWith),
    ...providerLines(simulatorUrl),
    `  Token                   ${token ?? 'npx gatewayctl token issue --label <name>'}`,
    '',
    serviceLine('  Services', '/livez /readyz /metrics', 'gRPC', 'process'),
    ...Object.entries(services).map(([name, service]) => lineOf(name, service)),
    ...Object.entries(addresses).map(([variable, address]) => `    ${variable.padEnd(21)} ${address}`),
    '',
    '  Try it:',
    '',
    firstCurl(baseUrl, token, simulatorUrl === undefined ? undefined : 'gateway/sterk'),
    '',
    ...nextLines(admin, signInWith, certificates),
    `  See metrics and alerts  ${observeCommand(services, certificates)}`,
    `  Test a failure          kill -9 <process>, and to start it again: kill -USR2 ${process.pid}`,
    '',
    '',
  ];
  return lines.join('\n');
}

function consoleLines(admin: RunningService | undefined, signInWith: string): readonly string[] {
  if (admin === undefined) return [];
  return [
    `  Console                 ${admin.adminUrl}   sign in ${signInWith === '' ? 'as an operator' : `with ${signInWith}`}`,
  ];
}

function nextLines(
  admin: RunningService | undefined,
  signInWith: string,
  certificates: string | undefined,
): readonly string[] {
  if (admin === undefined) return [];
  const { caFile } = certificates === undefined ? {} : certificateFiles(certificates, 'admin');
  return nextStepLines({
    GATEWAY_ADMIN_URL: admin.adminUrl,
    GATEWAY_ADMIN_TOKEN: signInWith.startsWith('gw_') ? signInWith : "'<token>'",
    ...(caFile !== undefined && { NODE_EXTRA_CA_CERTS: caFile }),
  });
}

/** It takes the certificates of the default folder without a flag. */
function observeCommand(services: Welcome['services'], certificates: string | undefined): string {
  const targets = Object.entries(services).map(([name, { adminUrl }]) => `${name}=${adminUrl}`);
  const folder = certificates === undefined ? '' : ` --certificates ${certificates}`;
  return `npm run observe -- --targets ${targets.join(',')}${folder}`;
}

function lineOf(name: string, { adminUrl, grpcUrl, process }: RunningService): string {
  // These serve no RPCs to other services.
  const grpc = name === 'edge-router' || name === 'admin' ? '-' : new URL(grpcUrl).host;
  return serviceLine(`    ${name}`, adminUrl, grpc, String(process.pid ?? ''));
}

function serviceLine(name: string, operators: string, grpc: string, process: string): string {
  return `${name.padEnd(25)} ${operators.padEnd(37)} ${grpc.padEnd(17)} ${process}`;
}

/** A log line of a service, with the service's name; on a terminal in a readable form. */
export function printLine(service: ServiceName, line: string): void {
  print(service, process.stderr.isTTY ? readableLine(line) : line);
}

/**
 * A service ended by itself. It starts again only when it is asked to, so that a person who tries
 * the gateway sees it missing.
 */
export function printEnd(service: ServiceName, how: string): void {
  print(
    'start-services',
    `${service} ${how}. The others continue without it. Start it again: kill -USR2 ${process.pid}. Press Ctrl-C to stop all.`,
  );
}

export function printProgress(text: string): void {
  print('start-services', text);
}

function print(name: string, text: string): void {
  process.stderr.write(`${name.padEnd(widestName)} | ${text}\n`);
}

const widestName = Math.max(...serviceNames.map(({ length }) => length));
