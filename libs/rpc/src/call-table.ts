import type { PeerCertificate } from 'node:tls';
import type { DescMethod, DescService } from '@bufbuild/protobuf';
import { AdapterService } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { GroupService, IdentityService } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { PersonService, SignInService } from '@gateway/proto/identity/v1/person_service_pb.js';
import { LimiterOperatorService, LimiterService } from '@gateway/proto/limiter/v2/limiter_service_pb.js';
import {
  CredentialService,
  PoolBrokerService,
  PoolOperatorService,
} from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { UsageLedgerService, UsageReportService } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { UsageQueryService } from '@gateway/proto/usage/v1/usage_service_pb.js';
import { pathOf } from './served-methods.ts';

const broker = PoolBrokerService.method;
const limiter = LimiterService.method;
const adapterCalls = [CredentialService.method.getCredential, broker.listPools, broker.reportModels];

/**
 * Who may call what between services. Servers with TLS enforce this table by the name in the
 * caller's certificate; the network policies in deploy/kubernetes are generated from it.
 */
export const callTable: Readonly<Record<string, readonly DescMethod[]>> = {
  'edge-router': [
    IdentityService.method.resolve,
    IdentityService.method.watchChanges,
    ...methodsOf(SignInService),
    limiter.admit,
    limiter.settle,
    limiter.reserve,
    limiter.renew,
    limiter.peek,
    limiter.heartbeat,
    broker.acquire,
    broker.report,
    broker.renewLeases,
    broker.listModels,
    broker.watchCatalog,
    AdapterService.method.execute,
    AdapterService.method.countTokens,
    UsageQueryService.method.getUsage,
    UsageQueryService.method.getTypicalOutput,
  ],
  'responses-adapter': adapterCalls,
  'messages-adapter': adapterCalls,
  limiter: [UsageQueryService.method.getDayTotal, UsageQueryService.method.getGroupTotal],
  'pool-broker': [],
  identity: [],
  'usage-ingest': [],
  'usage-query': [],
  // For operators, who have signed in at the admin service. Only adapters receive secrets of
  // accounts: of them it asks only what a provider answers to one.
  admin: [
    ...methodsOf(
      IdentityService,
      GroupService,
      PersonService,
      LimiterService,
      LimiterOperatorService,
      PoolBrokerService,
      PoolOperatorService,
      UsageQueryService,
      UsageReportService,
      UsageLedgerService,
    ),
    AdapterService.method.probeAccount,
  ],
};

/** Methods that every other service with a certificate of the same authority may call. */
export const openToAll: readonly DescMethod[] = LimiterService.methods;

/**
 * Services that may use the limiter's keys and replica groups without a prefix, including the
 * gateway's own: keys that start with `token:` or `group:`, and the group `edge`. Names that other
 * services choose are prefixed with the service's name.
 */
export const limiterKeyOwners: readonly string[] = ['edge-router', 'admin'];

/** Callers that may read `/metrics`, besides the services in the table. */
export const metricsReaders: readonly string[] = ['prometheus'];

/** Callers that may read `/settings`, on behalf of operators who have signed in there. */
export const settingsReaders: readonly string[] = ['admin'];

/**
 * Whether a caller may call a method.
 * @param names the names in its certificate, as `serviceNamesIn` gives them.
 * @param path `/package.Service/Method`
 */
export function mayCall(names: readonly string[], path: string): boolean {
  return openPaths.has(path) || names.some((name) => pathsOfCaller.get(name)?.has(path));
}

/** Whether a caller may read `/metrics`. */
export function mayReadMetrics(names: readonly string[]): boolean {
  return names.some((name) => metricsReaders.includes(name) || pathsOfCaller.has(name));
}

/** Whether a caller may read `/settings`. */
export function mayReadSettings(names: readonly string[]): boolean {
  return names.some((name) => settingsReaders.includes(name));
}

/**
 * The services that a certificate stands for, by its subjectAltName in Node's notation: the last
 * segment of each SPIFFE id, and the first label of each DNS name.
 */
export function serviceNamesIn(subjectAltName = ''): readonly string[] {
  // Node quotes a name that could be read as several entries.
  return entriesOf(subjectAltName).flatMap((entry) => {
    const [, ofDns, ofSpiffe] = /^ ?(?:DNS:([\w-]+)(?:\.[\w-]+)*|URI:spiffe:\/\/[\w./-]+\/([\w-]+))$/.exec(entry) ?? [];
    const name = ofDns ?? ofSpiffe;
    return name === undefined || name === 'localhost' ? [] : name;
  });
}

/** What is between commas outside quotes. Reads each character of any certificate once. */
function entriesOf(text: string): readonly string[] {
  const entries: string[] = [];
  let [startAt, isQuoted] = [0, false];
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '"') isQuoted = !isQuoted;
    else if (text[at] === '\\' && isQuoted) at += 1;
    else if (text[at] === ',' && !isQuoted) {
      entries.push(text.slice(startAt, at));
      startAt = at + 1;
    }
  }
  return [...entries, text.slice(startAt)];
}

/**
 * A check of a server's certificate: it must stand for `service`, or for any service if undefined.
 * The address that the server is reached by does not matter.
 */
export function identityCheck(service: string | undefined) {
  return (_host: string, { subjectaltname }: Pick<PeerCertificate, 'subjectaltname'>): Error | undefined => {
    const names = serviceNamesIn(subjectaltname);
    const isRight = service === undefined ? names.some((name) => name in callTable) : names.includes(service);
    if (isRight) return undefined;
    return new Error(`the certificate is not one of ${service ?? 'a service'}: it has ${subjectaltname ?? 'no names'}`);
  };
}

function methodsOf(...services: readonly DescService[]): readonly DescMethod[] {
  return services.flatMap((service) => service.methods);
}

const openPaths = new Set(openToAll.map(pathOf));
const pathsOfCaller = new Map(Object.entries(callTable).map(([name, methods]) => [name, new Set(methods.map(pathOf))]));
