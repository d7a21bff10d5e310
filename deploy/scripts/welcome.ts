import { type ServiceName, serviceNames } from '@gateway/testkit';
import { certificateFiles } from './dev-certificates.ts';
import type { RunningService } from './run-services.ts';

export interface Welcome {
  /** The first process of each. */
  readonly services: Readonly<Record<ServiceName, RunningService>>;
  /** Absent on a shared database. */
  readonly token: string | undefined;
  /** What the first operator signs in to the console with. Empty: there are operators. */
  readonly signInWith: string;
  /** Where the certificates are, when services speak TLS. */
  readonly certificates: string | undefined;
  /** Set when no provider account is configured. */
  readonly simulatorUrl: string | undefined;
}

/** What a person sees once the services run: where they are, and a line to paste. */
export function welcomeText({ services, token, signInWith, simulatorUrl, certificates }: Welcome): string {
  const baseUrl = services['edge-router'].publicUrl;
  const body = JSON.stringify({
    model: 'gateway/sterk',
    stream: true,
    messages: [{ role: 'user', content: 'Hello there' }],
  });
  const lines = [
    '',
    `  The gateway listens on  ${baseUrl}`,
    ...consoleLines(services, signInWith, certificates),
    ...(simulatorUrl === undefined
      ? []
      : [
          `  Providers               simulated, at ${simulatorUrl}`,
          '                          set OPENAI_API_KEY and/or ANTHROPIC_API_KEY, or GATEWAY_CONFIG, for real ones',
        ]),
    ...(token === undefined ? [] : [`  Token                   ${token}`]),
    '',
    serviceLine('  Each service', '/livez /readyz /metrics', 'gRPC', 'process'),
    ...Object.entries(services).map(([name, service]) => lineOf(name, service)),
    '',
    '  Try it:',
    '',
    `curl -N ${baseUrl}/v1/chat/completions -H 'Authorization: Bearer ${token ?? '<token>'}' -H 'Content-Type: application/json' -d '${body}'`,
    '',
    '',
  ];
  return lines.join('\n');
}

/** For tests and the bench it may be left out. */
function consoleLines(
  services: Welcome['services'],
  signInWith: string,
  certificates: string | undefined,
): readonly string[] {
  if (!Object.keys(services).includes('admin')) return [];
  const { adminUrl } = services.admin;
  const settings = {
    GATEWAY_ADMIN_URL: adminUrl,
    GATEWAY_ADMIN_TOKEN: signInWith.startsWith('gw_') ? signInWith : '<token>',
    ...(certificates !== undefined && { NODE_EXTRA_CA_CERTS: certificateFiles(certificates, 'admin').caFile }),
  };
  const env = Object.entries(settings).map(([name, value]) => `${name}=${value}`);
  return [
    `  Console                 ${adminUrl}   sign in ${signInWith === '' ? 'as an operator' : `with ${signInWith}`}`,
    `  More tokens             ${env.join(' ')} npx gatewayctl token create --label my-first`,
  ];
}

function lineOf(name: string, { adminUrl, grpcUrl, process }: RunningService): string {
  // These serve no RPCs to other services.
  const grpc = name === 'edge-router' || name === 'admin' ? '-' : new URL(grpcUrl).host;
  return serviceLine(`    ${name}`, adminUrl, grpc, String(process.pid ?? ''));
}

function serviceLine(name: string, operators: string, grpc: string, process: string): string {
  return `${name.padEnd(25)} ${operators.padEnd(37)} ${grpc.padEnd(17)} ${process}`;
}

/** A line that a service logged, behind its name. */
export function printLine(service: ServiceName, line: string): void {
  print(service, line);
}

/** A service ended by itself. It is not started again, so that a person who tries the gateway out sees it missing. */
export function printEnd(service: ServiceName, how: string): void {
  print('start-services', `${service} ${how}. The others go on without it. Press Ctrl-C to stop them.`);
}

export function printProgress(text: string): void {
  print('start-services', text);
}

function print(name: string, text: string): void {
  process.stderr.write(`${name.padEnd(widestName)} | ${text}\n`);
}

const widestName = Math.max(...serviceNames.map(({ length }) => length));
