import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DescMessage, DescMethod } from '@bufbuild/protobuf';
import { GatewayError } from '@gateway/errors';
import { type Check, type Heartbeat, MemoryLimitStore, type Reservation, type Settlement } from '@gateway/limits';
import { LimiterOperatorService, LimiterService } from '@gateway/proto/limiter/v2/limiter_service_pb.js';
import { directClientOf, RpcError } from '@gateway/rpc';
import { type Channel, GrpcServer, grpcDefinition, openChannel, Tls } from '@gateway/rpc/grpc';
import { createLogger, Metrics } from '@gateway/telemetry';
import { CertificateAuthority } from '@gateway/testkit/certificates';
import {
  type ChannelCredentials,
  credentials,
  makeGenericClientConstructor,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readLimiterConfig } from '../src/config.ts';
import { createLimiterService } from '../src/service.ts';
import { deadline, today } from './limiter-under-test.ts';

/**
 * Calls an RPC. Returns its response, or the first of a stream; undefined when the call is denied;
 * an empty object when the request is invalid.
 */
type Ask = (method: DescMethod, request: object) => Promise<object | undefined>;

const methods = [...LimiterService.methods, ...LimiterOperatorService.methods];

/** A request for each RPC, with every field that contains a name. A new RPC needs an entry here. */
const requests: Readonly<Record<string, object>> = {
  Admit: { key: 'k', requestId: 'r', limits: { requestsPerMinute: 1 }, group: { key: 'g' } },
  Settle: { key: 'k', requestId: 'r', localDay: today(), tokens: 3, group: { key: 'g' } },
  Reserve: { key: 'k', requestId: 'r', localDay: today(), costMicros: 3, group: { key: 'g' } },
  Renew: { running: [{ key: 'k', requestId: 'r', localDay: today(), group: { key: 'g' } }] },
  Peek: { key: 'k', limits: { requestsPerMinute: 1 }, group: { key: 'g' } },
  AdmitStream: { checks: [{ key: 'k', requestId: 'r', limits: { requestsPerMinute: 1 }, group: { key: 'g' } }] },
  Heartbeat: { group: 'g', replicaId: 'a', admissions: [{ key: 'k', groupKey: 'g', requestId: 'r', ageMs: 5 }] },
  ReconcileDay: { key: 'k', groupKey: 'g', localDay: today() },
};
const requestOf = ({ name }: DescMethod) => requests[name] ?? {};

/** Names that only the gateway may use. */
const namesOfGateway: Readonly<Record<string, readonly string[]>> = {
  key: ['token:1', 'group:1'],
  groupKey: ['token:1', 'group:1'],
  group: ['edge', 'limiter'],
};

/** Each field of each RPC that names a key or a group, with each of the gateway's own names. */
const reserved = methods.flatMap((method) =>
  namingFields(method.input).flatMap((path) =>
    (namesOfGateway[path.at(-1) ?? ''] ?? []).map((name) => ({
      title: `${method.name} with ${path.join('.')} ${name}`,
      method,
      request: withName(requestOf(method), path, name),
    })),
  ),
);

describe('callers of the limiter', () => {
  const stack = new AsyncDisposableStack();
  let store: ObservedStore;
  let withCertificate: Readonly<Record<'shared' | 'plain', (name: string) => Promise<Ask>>>;
  let withoutCertificate: Readonly<Record<'shared' | 'plain' | 'direct', Ask>>;

  beforeAll(async () => {
    store = new ObservedStore({ maxKeys: 1_000 });
    const folder = await mkdtemp(join(tmpdir(), 'limiter-callers-'));
    stack.defer(() => rm(folder, { recursive: true }));
    const runtime = { logger: createLogger('limiter', 'silent'), metrics: new Metrics() };
    const { routes } = stack.use(createLimiterService(readLimiterConfig({}), {}, runtime, { store }));
    const authority = await CertificateAuthority.create();
    const tlsOf = async (name: string) =>
      stack.use(new Tls(await authority.writeFiles(join(folder, name), 'tls', { names: [name] })));
    const listen = async (tls?: Tls) => {
      const server = await GrpcServer.listen({ host: '127.0.0.1', port: 0, routes, tls });
      stack.defer(() => server.stop(0));
      return `127.0.0.1:${server.port}`;
    };
    const [address, plaintextAddress] = [await listen(await tlsOf('limiter')), await listen()];
    withCertificate = {
      async shared(name) {
        const tls = await tlsOf(name);
        return onChannel(stack.use(openChannel(`https://${address}`, { tls, service: 'limiter' })));
      },
      async plain(name) {
        const { certPem, keyPem } = await authority.issue({ names: [name] });
        const [ca, key, cert] = [authority.certificatePem, keyPem, certPem].map((text) => Buffer.from(text));
        return onPlainGrpc(address, credentials.createSsl(ca, key, cert), stack);
      },
    };
    withoutCertificate = {
      shared: onChannel(stack.use(openChannel(`http://${plaintextAddress}`))),
      plain: onPlainGrpc(plaintextAddress, credentials.createInsecure(), stack),
      direct: onChannel({ client: (service) => directClientOf(routes, service) }),
    };
  });
  afterAll(() => stack.disposeAsync());

  it('are tried with every RPC, in every field that names something', () => {
    expect(Object.keys(requests)).toEqual(methods.map(({ name }) => name));
    expect(new Set(reserved.map(({ method }) => method))).toEqual(new Set(methods));
    expect(reserved.map(({ title }) => title)).toContain('Heartbeat with admissions.key token:1');
  });

  describe.each(['shared', 'plain'] as const)('with a certificate, on a %s stream', (kind) => {
    it.each(reserved)('are denied $title, unless they are the edge or the admin service', async (one) => {
      const askAs = async (name: string) => (await withCertificate[kind](name))(one.method, one.request);
      store.namesAsked();
      for (const name of ['search', 'pool-broker', 'token', '192.0.2.1']) {
        expect(await askAs(name), name).toBeUndefined();
      }
      expect(store.namesAsked()).toEqual([]);
      // The call table leaves operators' methods to the admin service.
      const owners = one.method.parent === LimiterOperatorService ? ['admin'] : ['edge-router', 'admin'];
      for (const name of owners) expect(await askAs(name), name).toBeDefined();
    });

    it.each(LimiterService.methods)('each have keys and groups of their own in $name', async (method) => {
      const namesOf = async (caller: string) => {
        store.namesAsked();
        const ask = await withCertificate[kind](caller);
        expect(await ask(method, requestOf(method))).toBeDefined();
        return store.namesAsked().join(' ');
      };
      expect(await namesOf('search')).toMatch(/^(search:[kg] ?)+$/);
      expect(await namesOf('billing')).toMatch(/^(billing:[kg] ?)+$/);
      expect(await namesOf('edge-router')).toMatch(/^([kg] ?)+$/);
    });
  });

  it('take no slots from each other where their keys are alike', async () => {
    const admit = async (name: string, requestId: string) => {
      const ask = await withCertificate.shared(name);
      const check = { key: 'alike', requestId, limits: { requestsPerMinute: 1 } };
      const answer = await ask(LimiterService.method.admit, check);
      return answer !== undefined && Reflect.get(answer, 'refusal') === undefined ? 'admitted' : 'refused';
    };
    expect(await admit('search', 'one')).toBe('admitted');
    expect(await admit('billing', 'two')).toBe('admitted');
    expect(await admit('search', 'three')).toBe('refused');
  });

  it('without a name in their certificate share keys that no service has', async () => {
    const ask = await withCertificate.plain('192.0.2.1');
    store.namesAsked();
    await ask(LimiterService.method.settle, requestOf(LimiterService.method.settle));
    expect(store.namesAsked()).toEqual([':k', ':g']);
  });

  describe('without certificates', () => {
    it.each(reserved)('are denied $title, unless they are processes of the gateway', async ({ method, request }) => {
      store.namesAsked();
      expect(await withoutCertificate.plain(method, request)).toBeUndefined();
      expect(store.namesAsked()).toEqual([]);
      expect(await withoutCertificate.shared(method, request)).toBeDefined();
      expect(await withoutCertificate.direct(method, request)).toBeDefined();
    });

    it('share keys that no service has', async () => {
      const namesOf = async (ask: Ask) => {
        store.namesAsked();
        await ask(LimiterService.method.peek, requestOf(LimiterService.method.peek));
        return store.namesAsked();
      };
      expect(await namesOf(withoutCertificate.plain)).toEqual([':k', ':g']);
      expect(await namesOf(withoutCertificate.shared)).toEqual(['k', 'g']);
      expect(await namesOf(withoutCertificate.direct)).toEqual(['k', 'g']);
    });
  });
});

/** A store that records the keys and groups it is asked about. */
class ObservedStore extends MemoryLimitStore {
  #names: string[] = [];

  /** The names since the last call. */
  namesAsked(): readonly string[] {
    const names = this.#names;
    this.#names = [];
    return names;
  }

  override admit(check: Check) {
    this.#note(check);
    return super.admit(check);
  }

  override settle(settlement: Settlement) {
    this.#note(settlement);
    return super.settle(settlement);
  }

  override reserve(reservation: Reservation) {
    this.#note(reservation);
    return super.reserve(reservation);
  }

  override renew(running: readonly Reservation[]) {
    for (const each of running) this.#note(each);
    return super.renew(running);
  }

  override heartbeat(beat: Heartbeat) {
    this.#names.push(beat.group, ...beat.admissions.flatMap(({ key, groupKey = '' }) => [key, groupKey]));
    return super.heartbeat(beat);
  }

  #note({ key, group }: Pick<Check, 'key' | 'group'>) {
    this.#names.push(key, ...(group === undefined ? [] : [group.key]));
  }
}

/** Calls as the gateway's own processes do: on a shared stream, or directly. */
function onChannel({ client }: Pick<Channel, 'client'>): Ask {
  return async ({ parent, localName, methodKind }, request) => {
    // The descriptor determines the kind of method.
    const call = Reflect.get(client(parent), localName) as (
      request: object,
      options: object,
    ) => Promise<object> & AsyncIterable<object>;
    try {
      if (methodKind === 'unary') return await call(request, deadline);
      for await (const answer of call(streamOf(request), deadline)) return answer;
      return {};
    } catch (thrown) {
      if (thrown instanceof RpcError && thrown.status === 'permission_denied') return undefined;
      if (thrown instanceof GatewayError && thrown.code === 'invalid_request') return {};
      throw thrown;
    }
  };
}

/** Calls as any gRPC client does. */
function onPlainGrpc(address: string, given: ChannelCredentials, stack: AsyncDisposableStack): Ask {
  return ({ parent, localName, methodKind }, request) => {
    const Client = makeGenericClientConstructor(grpcDefinition(parent), parent.name);
    const client = new Client(address, given, { 'grpc.ssl_target_name_override': 'limiter' });
    stack.defer(() => client.close());
    const { promise, resolve, reject } = Promise.withResolvers<object | undefined>();
    const onFailure = (error: ServiceError) => {
      if (error.code === status.PERMISSION_DENIED) resolve(undefined);
      else if (error.code === status.INVALID_ARGUMENT) resolve({});
      else reject(error);
    };
    const call = Reflect.get(client, localName);
    const expires = { deadline: Date.now() + deadline.timeoutMs };
    if (methodKind === 'unary') {
      call.call(client, request, expires, (error: ServiceError | null, answer: object) =>
        error ? onFailure(error) : resolve(answer),
      );
    } else {
      const stream = call.call(client, expires);
      stream.on('data', resolve).on('error', onFailure).end(request);
    }
    return promise;
  };
}

async function* streamOf<T>(message: T): AsyncGenerator<T> {
  yield message;
}

/** The paths of all fields that contain the name of a key or of a group. */
function namingFields(message: DescMessage): readonly (readonly string[])[] {
  return message.fields.flatMap((field) => {
    if (field.message !== undefined) return namingFields(field.message).map((path) => [field.localName, ...path]);
    return field.localName in namesOfGateway ? [[field.localName]] : [];
  });
}

/** A copy of a request with another name at a path; for a list, in its first element. */
function withName(request: object, [field = '', ...rest]: readonly string[], name: string): object {
  const inner: unknown = Reflect.get(request, field);
  if (rest.length === 0) return { ...request, [field]: name };
  if (!Array.isArray(inner)) return { ...request, [field]: withName(Object(inner), rest, name) };
  const [element = {}]: readonly object[] = inner;
  return { ...request, [field]: [withName(element, rest, name)] };
}
