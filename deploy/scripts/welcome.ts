import { type ServiceName, serviceNames } from '@gateway/testkit';
import { tlsEnvironment } from './dev-certificates.ts';
import type { RunningService } from './run-services.ts';

export interface Welcome {
  /** The first process of each. */
  readonly services: Readonly<Record<ServiceName, RunningService>>;
  /** Absent on a shared database. */
  readonly token: string | undefined;
  /** Where the certificates are, when services speak TLS. */
  readonly certificates: string | undefined;
  /** Set when no provider account is configured. */
  readonly simulatorUrl: string | undefined;
}

/** What a person sees once the services run: where they are, and a line to paste. */
export function welcomeText({ services, token, simulatorUrl, certificates }: Welcome): string {
  const baseUrl = services['edge-router'].publicUrl;
  const body = JSON.stringify({
    model: 'gateway/sterk',
    stream: true,
    messages: [{ role: 'user', content: 'Hello there' }],
  });
  const tls = certificates === undefined ? '' : `${textOf(tlsEnvironment(certificates, 'gatewayctl'))} `;
  const lines = [
    '',
    `  The gateway listens on  ${baseUrl}`,
    ...(simulatorUrl === undefined
      ? []
      : [
          `  Providers               simulated, at ${simulatorUrl}`,
          '                          set OPENAI_API_KEY and/or ANTHROPIC_API_KEY, or GATEWAY_CONFIG, for real ones',
        ]),
    ...(token === undefined ? [] : [`  Token                   ${token}`]),
    '  More tokens             ' +
      `${tls}GATEWAY_ADMIN_URL=${services.identity.adminUrl} npm run gatewayctl -- token create --label my-first`,
    '',
    serviceLine('  Each service', 'operators (/livez /readyz /metrics)', 'gRPC', 'process'),
    ...serviceNames.map((name) => lineOf(name, services[name])),
    '',
    '  Try it:',
    '',
    `curl -N ${baseUrl}/v1/chat/completions -H 'Authorization: Bearer ${token ?? '<token>'}' -H 'Content-Type: application/json' -d '${body}'`,
    '',
    '',
  ];
  return lines.join('\n');
}

function textOf(env: Readonly<Record<string, string>>): string {
  return Object.entries(env)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');
}

function lineOf(name: ServiceName, { adminUrl, grpcUrl, process }: RunningService): string {
  // The edge serves no RPCs to other services.
  const grpc = name === 'edge-router' ? '-' : new URL(grpcUrl).host;
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
