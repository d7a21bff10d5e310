import { CredentialService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { callTable, openToAll } from '@gateway/rpc/call-table';
import type {
  INetworkPolicy,
  INetworkPolicyEgressRule,
  INetworkPolicyIngressRule,
  INetworkPolicyPeer,
} from 'kubernetes-models/networking.k8s.io/v1';
import { type Backend, type PortName, portNumbers, type Service, type ServiceName, services } from '../services.ts';
import type { Values } from '../values.ts';
import { labelsOf, metadataOf } from './labels.ts';

/**
 * The allowed traffic of a service, in and out: the call table, its backends, providers, and a
 * collector of traces.
 */
export function networkPolicy(service: Service, values: Values): INetworkPolicy {
  return policy(service.name, ingressOf(service, values), [
    nameLookups,
    ...callsOf(service.name),
    ...service.backends.map((backend) => toBackend(backend, values)),
    ...(service.isForOperators
      ? [
          { to: services.map(({ name }) => podsOf(name)), ports: [tcp('admin')] },
          { to: publicServices.map(podsOf), ports: [tcp('public')] },
        ]
      : []),
    ...(service.reachesProviders ? [toProviders(values)] : []),
    { ports: values.networkPolicies.collector },
  ]);
}

/** The allowed traffic of the pod with all services: clients, providers, a collector of traces. */
export function policyOfOne(name: string, values: Values): INetworkPolicy {
  const { clients, operators, prometheus, collector } = values.networkPolicies;
  return policy(
    name,
    [
      { from: clients, ports: [tcp('public')] },
      { from: operators, ports: [tcp('admin')] },
      { from: prometheus, ports: [tcp('admin')] },
    ],
    [nameLookups, toProviders(values), { ports: collector }],
  );
}

/** The policy of the pod that migrates the tables. */
export function migrationPolicy(values: Values): INetworkPolicy {
  return policy('migrate', [], [nameLookups, toBackend('postgres', values)]);
}

export function policy(
  name: string,
  ingress: INetworkPolicyIngressRule[],
  egress: INetworkPolicyEgressRule[],
): INetworkPolicy {
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: metadataOf(name),
    spec: { podSelector: { matchLabels: labelsOf(name) }, policyTypes: ['Ingress', 'Egress'], ingress, egress },
  };
}

export function podsOf(name: string): INetworkPolicyPeer {
  return { podSelector: { matchLabels: labelsOf(name) } };
}

/** The cluster looks names up in pods, or on the node. */
export const nameLookups: INetworkPolicyEgressRule = {
  ports: [
    { protocol: 'UDP', port: 53 },
    { protocol: 'TCP', port: 53 },
  ],
};

function ingressOf(service: Service, { networkPolicies }: Values): INetworkPolicyIngressRule[] {
  const { clients, limiterClients, prometheus, operators } = networkPolicies;
  const callers = Map.groupBy(callersOf(service), ({ port }) => port);
  return [
    ...(service.ports.includes('public')
      ? [
          { from: clients, ports: [tcp('public')] },
          { from: metricsReaders.map(podsOf), ports: [tcp('public')] },
        ]
      : []),
    ...[...callers].map(([port, group]) => ({ from: group.map(({ caller }) => podsOf(caller)), ports: [tcp(port)] })),
    ...(openToAll.some((method) => serves(service, method)) ? [{ from: limiterClients, ports: [tcp('grpc')] }] : []),
    ...(service.isForOperators ? [{ from: operators, ports: [tcp('admin')] }] : []),
    { from: metricsReaders.map(podsOf), ports: [tcp('admin')] },
    { from: prometheus, ports: [tcp('admin')] },
  ];
}

/** Services that show the state of all others, and send requests of the playground. */
const metricsReaders = services.filter(({ isForOperators }) => isForOperators).map(({ name }) => name);

/** Services that clients call. */
const publicServices = services.filter(({ ports }: Service) => ports.includes('public')).map(({ name }) => name);

/**
 * Callers are identified by the labels of their pods. Pods of other teams have another label, and
 * any name.
 */
function callersOf({ name }: Service) {
  return Object.keys(callTable).flatMap((caller) =>
    callsFrom(caller)
      .filter(({ to }) => to === name)
      .map(({ port }) => ({ caller, port })),
  );
}

/** The peers of a caller, by the call table. */
function callsOf(caller: string): INetworkPolicyEgressRule[] {
  return callsFrom(caller).map(({ to, port }) => ({ to: [podsOf(to)], ports: [tcp(port)] }));
}

interface Method {
  readonly parent: { readonly typeName: string };
}

interface Call {
  readonly to: ServiceName;
  readonly port: PortName;
}

function callsFrom(caller: string): readonly Call[] {
  const table: Readonly<Record<string, readonly Method[]>> = callTable;
  const calls = (table[caller] ?? []).flatMap((method) =>
    services
      .filter((service: Service) => serves(service, method))
      .map(({ name }): Call => ({ to: name, port: portFor(method) })),
  );
  return [...new Map(calls.map((call) => [`${call.to}:${call.port}`, call])).values()];
}

function serves({ serves: served }: Service, { parent }: Method): boolean {
  return served.some(({ typeName }) => typeName === parent.typeName);
}

/** Account secrets have a port of their own, so that a policy can protect it separately. */
function portFor({ parent }: Method): PortName {
  return parent.typeName === CredentialService.typeName ? 'credentials' : 'grpc';
}

/** Backends may be anywhere: their addresses are in Secrets. */
function toBackend(backend: Backend, { networkPolicies }: Values): INetworkPolicyEgressRule {
  return { ports: networkPolicies[backend] };
}

/** Anywhere except the addresses at which clouds offer the machine's credentials. */
function toProviders({ networkPolicies }: Values): INetworkPolicyEgressRule {
  return {
    to: [{ ipBlock: { cidr: '0.0.0.0/0', except: ['169.254.0.0/16'] } }, { ipBlock: { cidr: '::/0' } }],
    ports: networkPolicies.providers,
  };
}

function tcp(port: PortName) {
  return { protocol: 'TCP' as const, port: portNumbers[port] };
}
