import { callTable, openToAll } from '@gateway/rpc/call-table';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Rendered, renderFolder } from './__fixtures__/rendered.ts';
import { portNumbers, services } from './services.ts';

const nameLabel = 'app.kubernetes.io/name';
const selector = z.looseObject({ matchLabels: z.record(z.string(), z.string()) });
const peer = z.looseObject({
  podSelector: selector.optional(),
  namespaceSelector: z.looseObject({ matchLabels: selector.shape.matchLabels.optional() }).optional(),
  ipBlock: z.looseObject({ cidr: z.string() }).optional(),
});
const ports = z.array(z.strictObject({ protocol: z.enum(['TCP', 'UDP']), port: z.number() })).min(1);
const policySchema = z.looseObject({
  spec: z.strictObject({
    podSelector: selector,
    policyTypes: z.tuple([z.literal('Ingress'), z.literal('Egress')]),
    ingress: z.array(z.strictObject({ from: z.array(peer).default([]), ports })),
    egress: z.array(z.strictObject({ to: z.array(peer).default([]), ports })),
  }),
});

/** The pods of a policy, with their allowed traffic: `identity:50051 from edge-router`. */
function connectionsOf(policies: readonly Rendered[], direction: 'ingress' | 'egress'): readonly string[] {
  return policies.flatMap(({ document }) => {
    const { spec } = policySchema.parse(document);
    const own = spec.podSelector.matchLabels[nameLabel] ?? '';
    const rules = spec[direction].map((rule) => ({ ports: rule.ports, peers: 'from' in rule ? rule.from : rule.to }));
    return rules.flatMap((rule) =>
      rule.peers.flatMap(({ podSelector }) => {
        const other = podSelector?.matchLabels[nameLabel] ?? podSelector?.matchLabels['model-gateway/limiter-client'];
        if (other === undefined) return [];
        const name = other === 'true' ? 'limiter-client' : other;
        const [callee, caller] = direction === 'ingress' ? [own, name] : [name, own];
        return rule.ports.map(({ port }) => `${callee}:${port} from ${caller}`);
      }),
    );
  });
}

/** The rules of the call table, derived only from its methods. */
function connectionsOfTheCallTable(): readonly string[] {
  const served: readonly { readonly name: string; readonly serves: readonly { readonly typeName: string }[] }[] =
    services;
  const callers = Object.entries({ ...callTable, 'limiter-client': openToAll });
  const calls = callers.flatMap(([caller, methods]) =>
    methods.flatMap(({ parent: { typeName } }) => {
      const callees = served.filter(({ serves }) => serves.some((contract) => contract.typeName === typeName));
      expect(callees.length, `${typeName} is served`).toBeGreaterThan(0);
      const port = typeName.endsWith('.CredentialService') ? portNumbers.credentials : portNumbers.grpc;
      return callees.map(({ name }) => `${name}:${port} from ${caller}`);
    }),
  );
  return [...new Set(calls)].toSorted();
}

describe('the network policies', () => {
  it.each(['overlays/production', 'overlays/development'])(
    'let in and out what the call table says, and nothing else: %s',
    async (overlay) => {
      const policies = (await renderFolder(overlay)).filter(({ kind }) => kind === 'NetworkPolicy');
      // The admin service shows the state of every replica, including its own.
      const readings = services.map(({ name }) => `${name}:${portNumbers.admin} from admin`);
      // It sends requests of the playground to the public port, too.
      const playground = `edge-router:${portNumbers.public} from admin`;
      const expected = [...connectionsOfTheCallTable(), ...readings, playground].toSorted();
      expect(expected.length).toBeGreaterThan(12);
      const ownNames = [...Object.keys(callTable), 'limiter-client', ...services.map(({ name }) => name)].filter(
        (name) => name !== 'prometheus',
      );
      const among = (connections: readonly string[]) =>
        connections.filter(
          (text) =>
            ownNames.some((name) => text.endsWith(` from ${name}`)) &&
            services.some(({ name }) => text.startsWith(`${name}:`)),
        );
      expect(among(connectionsOf(policies, 'ingress')).toSorted()).toEqual(expected);
      // Pods of other teams have policies of their own.
      const ours = expected.filter((text) => !text.endsWith(' from limiter-client'));
      expect(among(connectionsOf(policies, 'egress')).toSorted()).toEqual(ours);
    },
  );

  it('and settings give every service the addresses of the peers that the call table gives it, and no others', () => {
    const addresses = services.flatMap((service) =>
      Object.values<{ readonly service: string; readonly port: keyof typeof portNumbers }>(service.peers).map(
        (peer) => `${peer.service}:${portNumbers[peer.port]} from ${service.name}`,
      ),
    );
    const ofServices = connectionsOfTheCallTable().filter((text) =>
      services.some(({ name }) => text.endsWith(` from ${name}`)),
    );
    expect(addresses.toSorted()).toEqual(ofServices);
  });

  it('let the metrics of every service be collected, and leave only the public port open', async () => {
    const policies = (await renderFolder('overlays/production')).filter(({ kind }) => kind === 'NetworkPolicy');
    const metrics = connectionsOf(policies, 'ingress').filter((text) => text.endsWith(' from prometheus'));
    expect(metrics.toSorted()).toEqual(services.map(({ name }) => `${name}:9090 from prometheus`).toSorted());
    const open = policies.flatMap(({ name, document }) =>
      policySchema
        .parse(document)
        .spec.ingress.filter(({ from }) => from.length === 0)
        .map((rule) => [name, rule.ports]),
    );
    expect(open).toEqual([['edge-router', [{ protocol: 'TCP', port: portNumbers.public }]]]);
  });

  it('admit no one by a label that pods of any namespace can have', async () => {
    const folders = ['overlays/production', 'overlays/development', 'small'];
    const policies = (await Promise.all(folders.map(renderFolder)))
      .flat()
      .filter(({ kind }) => kind === 'NetworkPolicy');
    const peers = policies.flatMap(({ document }) =>
      policySchema.parse(document).spec.ingress.flatMap(({ from }) => from),
    );
    const labels = peers.flatMap(({ namespaceSelector: of }) =>
      of === undefined ? [] : [Object.keys(of.matchLabels ?? {})],
    );
    expect(labels).not.toEqual([]);
    expect(labels).not.toContainEqual([]);
  });

  it('let operators reach the admin service and nothing else', async () => {
    const policies = (await renderFolder('overlays/production')).filter(({ kind }) => kind === 'NetworkPolicy');
    const ofOperators = policies.filter(({ document }) => JSON.stringify(document).includes('model-gateway/operator'));
    expect(ofOperators.map(({ name }) => name)).toEqual(['admin']);
  });

  it("let only services with providers reach the internet, and never the machine's own address", async () => {
    const policies = (await renderFolder('overlays/production')).filter(({ kind }) => kind === 'NetworkPolicy');
    const out = policies.filter(({ document }) => JSON.stringify(document).includes('0.0.0.0/0'));
    expect(out.map(({ name }) => name).toSorted()).toEqual([
      'admin',
      'messages-adapter',
      'pool-broker',
      'responses-adapter',
    ]);
    for (const { document } of out) expect(JSON.stringify(document)).toContain('"except":["169.254.0.0/16"]');
  });

  it('in development, let each backend be reached by the services that use it', async () => {
    const policies = (await renderFolder('overlays/development')).filter(({ kind }) => kind === 'NetworkPolicy');
    const into = (name: string) => connectionsOf(policies, 'ingress').filter((text) => text.startsWith(`${name}:`));
    expect(into('redis')).toEqual(['redis:6379 from limiter', 'redis:6379 from pool-broker']);
    expect(into('nats')).toEqual(
      ['edge-router', 'usage-ingest', 'usage-query'].map((name) => `nats:4222 from ${name}`),
    );
    expect(into('postgres')).toHaveLength(6);
  });
});
