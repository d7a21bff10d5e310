import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Container, type Pods, podsIn, selectorOf, selects } from './__fixtures__/pods.ts';
import { type Rendered, renderFolder } from './__fixtures__/rendered.ts';
import { portNumbers, services } from './services.ts';

const [production, development, small] = ['overlays/production', 'overlays/development', 'overlays/small'];
const mebibytes = (text = '') => Number(/^(\d+)Mi$/.exec(text)?.[1]);

describe.each([production, development, small])('%s', (overlay) => {
  const ownPods = overlay === small ? ['gateway'] : services.map(({ name }) => name);
  let objects: readonly Rendered[];
  let pods: readonly Pods[];
  const ofKind = (...kinds: readonly string[]) => objects.filter(({ kind }) => kinds.includes(kind));
  const containers = () =>
    pods.flatMap(({ owner, spec }) =>
      [...spec.initContainers, ...spec.containers].map((container) => ({ owner, container, spec })),
    );
  const long = () =>
    pods
      .filter(({ kind }) => kind !== 'Job')
      .flatMap(({ owner, spec }) => spec.containers.map((container) => ({ owner, container, spec })));

  beforeAll(async () => {
    objects = await renderFolder(overlay);
    pods = podsIn(objects);
    expect(pods.length).toBeGreaterThanOrEqual(ownPods.length);
  });

  it('asks every container that stays whether it has started, lives and is ready', () => {
    for (const { owner, container } of long()) {
      const { startupProbe, livenessProbe, readinessProbe } = container;
      for (const probe of [startupProbe, livenessProbe, readinessProbe]) expect(probe, owner).toBeDefined();
    }
  });

  it('asks services over HTTPS when they have certificates', () => {
    const scheme = overlay === production ? 'HTTPS' : 'HTTP';
    for (const { owner, container } of long().filter(({ owner: name }) => ownPods.includes(name))) {
      expect(container.readinessProbe?.httpGet, owner).toMatchObject({ scheme, path: '/readyz', port: 'admin' });
      expect(container.livenessProbe?.httpGet, owner).toMatchObject({ scheme, path: '/livez' });
    }
  });

  it('gives every container requests and limits of processor and memory', () => {
    for (const { owner, container } of containers()) {
      for (const amounts of [container.resources.requests, container.resources.limits]) {
        expect(Object.keys(amounts).toSorted(), `${owner}/${container.name}`).toEqual(['cpu', 'memory']);
      }
    }
  });

  it('runs every container as a numeric user who can change nothing but its volumes', () => {
    for (const { owner, container, spec } of containers()) {
      expect(spec.securityContext, owner).toMatchObject({
        runAsNonRoot: true,
        seccompProfile: { type: 'RuntimeDefault' },
      });
      expect(Number(spec.securityContext.runAsUser), owner).toBeGreaterThan(0);
      expect(spec.automountServiceAccountToken, owner).toBe(false);
      expect(container.securityContext, `${owner}/${container.name}`).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
    }
  });

  it('leaves room in memory for heaps, bodies and Node itself', () => {
    for (const { owner, container } of containers().filter(({ container: { env } }) =>
      env.some(({ name }) => name === 'NODE_OPTIONS'),
    )) {
      const heap = Number(/--max-old-space-size=(\d+)/.exec(settingIn(container, 'NODE_OPTIONS') ?? '')?.[1]);
      const heaps = heap * (1 + Number(settingIn(container, 'TRANSLATION_WORKERS') ?? 0));
      const bodies = Number(settingIn(container, 'BODY_MEMORY_MAX_MIB') ?? 0);
      expect(mebibytes(container.resources.limits.memory), `${owner}/${container.name}`).toBeGreaterThanOrEqual(
        heaps + bodies + 128,
      );
    }
  });

  it('gives a pod longer to end than its drain takes', () => {
    const drains = long().filter(({ container: { env } }) => env.some(({ name }) => name.startsWith('DRAIN_')));
    expect(drains).toHaveLength(ownPods.length);
    for (const { owner, container, spec } of drains) {
      const seconds = (name: string) => Number(settingIn(container, name) ?? 0);
      const drain = seconds('DRAIN_TIMEOUT_SECONDS') || seconds('MAX_STREAM_SECONDS');
      expect(drain, owner).toBeGreaterThan(0);
      expect(spec.terminationGracePeriodSeconds, owner).toBeGreaterThan(seconds('DRAIN_DELAY_SECONDS') + drain);
    }
  });

  it('has, for the pods of every Service, one disruption budget and a network policy', () => {
    for (const service of ofKind('Service')) {
      const selected = pods.filter((candidate) => selects(selectorOf(service), candidate));
      expect(selected, service.name).toHaveLength(1);
      for (const [kind, least] of [
        ['PodDisruptionBudget', 1],
        ['NetworkPolicy', 1],
      ] as const) {
        const found = ofKind(kind).filter((object) =>
          selected.every((candidate) => selects(selectorOf(object), candidate)),
        );
        expect(found.length, `${kind} for ${service.name}`).toBeGreaterThanOrEqual(least);
      }
    }
  });

  it('selects pods that there are', () => {
    const selecting = ofKind('Service', 'PodDisruptionBudget', 'NetworkPolicy', 'Deployment', 'StatefulSet');
    for (const object of selecting) {
      expect(
        pods.filter((candidate) => selects(selectorOf(object), candidate)),
        `${object.kind} ${object.name}`,
      ).toHaveLength(1);
    }
    for (const object of ofKind('HorizontalPodAutoscaler')) {
      const { kind, name } = scaled.parse(object.document).spec.scaleTargetRef;
      expect(
        objects.some((target) => target.kind === kind && target.name === name),
        object.name,
      ).toBe(true);
    }
  });

  it('names ports that the containers have', () => {
    for (const service of ofKind('Service')) {
      const [target] = pods.filter((candidate) => selects(selectorOf(service), candidate));
      const ports = target?.spec.containers.flatMap((container) => container.ports.map(({ name }) => name));
      for (const { targetPort } of servicePorts.parse(service.document).spec.ports) expect(ports).toContain(targetPort);
    }
    for (const { owner, container } of long()) {
      const port = container.readinessProbe?.httpGet?.port;
      if (typeof port === 'string')
        expect(
          container.ports.map(({ name }) => name),
          owner,
        ).toContain(port);
    }
  });

  // The small form has no peers and no migration of its own.
  if (overlay !== small)
    it('finds peers at Services that have the port', () => {
      const peers = services.flatMap((service) =>
        Object.keys(service.peers).map((setting) => [service.name, setting] as const),
      );
      expect(peers.length).toBeGreaterThan(8);
      for (const [owner, setting] of peers) {
        const found = long().find((candidate) => candidate.owner === owner)?.container;
        const { protocol, hostname, port } = new URL((found && settingIn(found, setting)) ?? '');
        expect(protocol).toBe(overlay === production ? 'https:' : 'http:');
        const service = ofKind('Service').find(({ name }) => name === hostname);
        const { spec } = headless.parse(service?.document);
        expect(spec, `${owner} ${setting}`).toMatchObject({ clusterIP: 'None', publishNotReadyAddresses: false });
        expect(spec.ports.map((candidate) => String(candidate.port))).toContain(port);
      }
    });

  it('refers to ConfigMaps and volumes that there are', () => {
    const maps = ofKind('ConfigMap').map(({ name }) => name);
    for (const { owner, container, spec } of containers()) {
      const references = container.envFrom.flatMap(({ configMapRef }) =>
        configMapRef === undefined ? [] : [configMapRef.name],
      );
      const volumes = spec.volumes.flatMap(({ configMap }) => (configMap === undefined ? [] : [configMap.name]));
      expect(maps, owner).toEqual(expect.arrayContaining([...references, ...volumes]));
      const claims = ['data'];
      const mounted = container.volumeMounts.map(({ name }) => name).filter((name) => !claims.includes(name));
      expect(
        spec.volumes.map(({ name }) => name),
        owner,
      ).toEqual(expect.arrayContaining(mounted));
    }
  });

  it('keeps what an edge owes the ledger when its pod is gone', () => {
    const name = overlay === small ? 'gateway' : 'edge-router';
    const edge = objects.find((object) => object.kind === 'StatefulSet' && object.name === name);
    expect(edge?.document.spec).toMatchObject({
      ...(overlay !== small && { podManagementPolicy: 'Parallel' }),
      persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Retain' },
      volumeClaimTemplates: [{ metadata: { name: 'data' } }],
    });
  });

  it('runs one and the same image for all of our own', () => {
    const own = containers().filter(({ container }) => /^(.*\/)?model-gateway:/.test(container.image));
    expect(own.length).toBeGreaterThanOrEqual(ownPods.length);
    expect(new Set(own.map(({ container }) => container.image)).size).toBe(1);
    for (const { container } of containers()) expect(container.image).toMatch(/:[\w.-]*\d[\w.-]*$/);
  });

  // The small form has no peers and no migration of its own.
  if (overlay !== small)
    it('has the tables migrated before what works with them starts', () => {
      const users = services.filter(({ backends }) => backends.some((backend) => backend === 'postgres'));
      expect(users.length).toBe(5);
      for (const { name } of users) {
        const [waiting] = pods.find(({ owner }) => owner === name)?.spec.initContainers ?? [];
        expect(waiting?.args, name).toEqual(['gatewayctl', 'migrate', '--wait']);
      }
      expect(pods.find(({ kind }) => kind === 'Job')?.spec.containers[0]?.args).toEqual(['gatewayctl', 'migrate']);
    });
});

describe('the production overlay', () => {
  it('has two replicas of everything at least, and three edges', async () => {
    const autoscalers = (await renderFolder(production)).filter(({ kind }) => kind === 'HorizontalPodAutoscaler');
    const least = Object.fromEntries(
      autoscalers.map(({ name, document }) => [name, scaled.parse(document).spec.minReplicas]),
    );
    expect(Object.keys(least).toSorted()).toEqual(services.map(({ name }) => name).toSorted());
    expect(Math.min(...Object.values(least))).toBeGreaterThanOrEqual(2);
    expect(least['edge-router']).toBeGreaterThanOrEqual(3);
  });

  it.each([production, small])('holds no secret: %s', async (overlay) => {
    for (const object of await renderFolder(overlay)) {
      expect(object.kind).not.toBe('Secret');
      expect(JSON.stringify(object.document)).not.toMatch(/:\/\/[^/"\s]*:[^/"\s]*@/);
    }
  });

  it('has a certificate for every pod that shows one, under the name that its callers use', async () => {
    const objects = await renderFolder(production);
    const wanted = podsIn(objects)
      .flatMap(({ spec }) => spec.volumes.flatMap(({ secret }) => secret?.secretName ?? []))
      .filter((name) => name.endsWith('-tls'));
    const made = objects.flatMap(({ kind, document }) =>
      kind === 'Certificate' ? [certificate.parse(document).spec] : [],
    );
    expect(new Set(wanted).size).toBe(services.length);
    for (const name of wanted) {
      const service = name.replace(/-tls$/, '');
      expect(made.find(({ secretName }) => secretName === name)).toMatchObject({
        dnsNames: [service],
        uris: [`spiffe://model-gateway/${service}`],
      });
    }
  });
});

describe('the development overlay', () => {
  it('has every Secret that its pods need, and one replica of everything', async () => {
    const objects = await renderFolder(development);
    const secrets = objects.flatMap(({ kind, name, document }) =>
      kind === 'Secret' ? Object.keys(Object(document.stringData)).map((key) => `${name}/${key}`) : [],
    );
    const needed = podsIn(objects).flatMap(({ spec }) =>
      [...spec.initContainers, ...spec.containers].flatMap(({ env }) =>
        env.flatMap(({ valueFrom }) =>
          valueFrom?.secretKeyRef && !valueFrom.secretKeyRef.optional
            ? [`${valueFrom.secretKeyRef.name}/${valueFrom.secretKeyRef.key}`]
            : [],
        ),
      ),
    );
    expect(new Set(needed)).toEqual(new Set(secrets));
    expect(objects.filter(({ kind }) => kind === 'HorizontalPodAutoscaler')).toEqual([]);
    for (const { document } of objects) expect(Object(document.spec).replicas ?? 1).toBe(1);
  });
});

it('the ports are those of the documentation', () => {
  expect(portNumbers).toEqual({ public: 8080, grpc: 50_051, credentials: 50_052, admin: 9090 });
});

function settingIn(container: Container, name: string): string | undefined {
  return container.env.find((variable) => variable.name === name)?.value;
}

const scaled = z.looseObject({
  spec: z.looseObject({
    minReplicas: z.number(),
    scaleTargetRef: z.looseObject({ kind: z.string(), name: z.string() }),
  }),
});
const servicePorts = z.looseObject({
  spec: z.looseObject({ ports: z.array(z.looseObject({ targetPort: z.string() })) }),
});
const headless = z.looseObject({ spec: z.looseObject({ ports: z.array(z.looseObject({ port: z.number() })) }) });
const certificate = z.looseObject({ spec: z.looseObject({ secretName: z.string() }) });
