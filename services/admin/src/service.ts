import type { RequestListener } from 'node:http';
import { Code, ConnectError } from '@connectrpc/connect';
import type { Environment } from '@gateway/config';
import { createDatabaseProbe, type GatewayDatabase } from '@gateway/database';
import type { Service, ServiceRuntime } from '@gateway/lifecycle';
import { faultLog, peerChannels } from '@gateway/lifecycle/transport';
import { AdapterService } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { Role } from '@gateway/proto/admin/v1/operator_service_pb.js';
import { connectErrorOf, serverInterceptors } from '@gateway/rpc/connect-server';
import { Router } from 'express';
import { AccessGate } from './access/access-gate.ts';
import { tendAuditLog } from './access/audit-retention.ts';
import { AuditTrail } from './access/audit-trail.ts';
import { MinuteRate } from './access/minute-rate.ts';
import { OidcProvider } from './access/oidc-provider.ts';
import { firstOperatorName, OperatorStore } from './access/operators.ts';
import { PendingSignIns } from './access/pending-sign-ins.ts';
import { peopleNotes, peopleStateReader } from './access/people-state.ts';
import { PersonGrants } from './access/person-grants.ts';
import { lookupCounter, PersonLookups } from './access/person-lookups.ts';
import { PersonRules } from './access/person-rules.ts';
import { Refusals } from './access/refusals.ts';
import { SessionStore } from './access/sessions.ts';
import { SignIn, SignInCounter } from './access/sign-in.ts';
import { AlertLoop } from './alerts/alert-loop.ts';
import { AlertSender } from './alerts/alert-sender.ts';
import { AlertStore } from './alerts/alert-store.ts';
import { type AdminConfig, readAdminProcessConfig } from './config.ts';
import { exportRoutes } from './exports/export-routes.ts';
import { FigureReader } from './figures/figure-reader.ts';
import { networkReplicas } from './figures/replica-directory.ts';
import { createApp } from './http/app.ts';
import { builtConsole } from './http/console-files.ts';
import { DevicePages } from './http/device-routes.ts';
import { oidcRoutes } from './http/oidc-routes.ts';
import { signedIn } from './http/signed-in.ts';
import { type AdminParts, type AdminPeers, type PeerName, peersOf } from './parts.ts';
import { EdgeRelay } from './playground/edge-relay.ts';
import { adminRoutes, sessionRoutes } from './routes.ts';
import { boundedTexts } from './rpc/bounded-texts.ts';
import { databaseError, databaseErrors } from './rpc/database-errors.ts';

export interface AdminService extends Service {
  /** Answers all requests to the admin port besides health and metrics. */
  readonly adminApp: RequestListener;
}

export interface AdminSurroundings {
  /** The folder of the console's files. */
  readonly consoleFolder?: string;
}

/**
 * The operators' API and console, on any database with its tables. The caller closes the database.
 */
export function createAdminService(
  config: AdminConfig,
  peers: AdminPeers,
  { database }: { readonly database: GatewayDatabase },
  { logger, metrics }: ServiceRuntime,
  { consoleFolder = builtConsole }: AdminSurroundings = {},
): AdminService {
  const operators = new OperatorStore(database);
  const sessions = new SessionStore(database, config);
  const refusals = new Refusals({ database, logger, metrics });
  const signIns = new SignInCounter(metrics);
  const ensureFirst = firstOperator(config, operators);
  const { identity, people } = peers;
  const rules = personRules(config.oidc, peers);
  const { allowsDevelopmentSecrets } = config;
  const signIn = new SignIn({
    ...{ database, operators, sessions, refusals, identity, people, rules, signIns, ensureFirst },
    allowsDevelopmentSecrets,
  });
  const gate = new AccessGate({ signIn, sessions, refusals });
  const provider = config.oidc && new OidcProvider(config.oidc);
  const counter = lookupCounter(metrics);
  const lookups = provider && personLookups();
  const codeRate = new MinuteRate({ mostOfName: 20, mostOverall: 1_000 });
  const pendingSignIns = new PendingSignIns(database);
  const rate = new MinuteRate({ mostOfName: 60, mostOverall: 600 });
  const onFault = faultLog(logger);
  const stopping = new AbortController();
  let tending: Promise<unknown> = Promise.resolve();
  let lookingUp: Promise<unknown> = Promise.resolve();

  const openSessions = metrics.gauge({ name: 'gateway_admin_open_sessions', help: 'Open browser sessions.' });
  metrics.beforeSnapshot(async () => openSessions.set(await sessions.count()));

  function personLookups(): PersonLookups | undefined {
    const { oidc, personKeys } = config;
    if (provider === undefined || oidc?.lookupMs === undefined || personKeys.length === 0) return undefined;
    return new PersonLookups({
      grants: new PersonGrants(database, personKeys),
      ...{ provider, people, rules, operators, sessions, database, intervalMs: oidc.lookupMs, logger, counter },
    });
  }
  const signInPages = (known: OidcProvider) => {
    const pages = { provider: known, pendingSignIns, refusals };
    const devicePages = new DevicePages({ ...pages, people, rules, lookups, rate: codeRate, database });
    return [oidcRoutes({ ...pages, lookups, rate, signIn, signIns, devicePages, logger }), devicePages.routes()];
  };

  const sender = new AlertSender({ proxies: config.proxies, publicUrl: config.names.publicUrl });
  const audit = new AuditTrail(database, logger);
  const parts: AdminParts = { peers, database, rules, audit, sender, logger };
  const state = { hasProvider: provider !== undefined, rules, lookups };
  const notes = peopleNotes(state);
  const figures = new FigureReader({ peers, people: peopleStateReader(state, metrics), notes, logger });
  const relay = new EdgeRelay(peers.edgeUrl);
  const alerts = new AlertLoop({
    ...{ peers, figures, store: new AlertStore(database), sender, logger, metrics },
    intervalMs: config.alertIntervalMs,
  });
  const adminApp = createApp({
    ...config,
    refusals,
    routes: adminRoutes(parts, operators, figures, relay),
    openRoutes: sessionRoutes({ signIn, sessions, operators, oidcLabel: config.oidc?.label ?? '' }),
    check: (context) =>
      gate.check(context).catch((thrown) => {
        throw connectErrorOf(databaseError(thrown), context, onFault);
      }),
    interceptors: [...serverInterceptors(metrics, onFault), databaseErrors, boundedTexts, gate.endStreams],
    others: [
      Router().use('/export', signedIn(gate, Role.VIEWER)).use(exportRoutes(parts)),
      ...(provider === undefined ? [] : signInPages(provider)),
    ],
    consoleFolder,
    stopping: stopping.signal,
    logger,
  });
  return {
    routes: [],
    adminApp,
    async start() {
      for (const note of notes) logger.warn({ note }, 'the sign-in of people');
      figures.start();
      alerts.start();
      tending = tendAuditLog({ database, logger, retentionDays: config.auditRetentionDays, signal: stopping.signal });
      if (lookups !== undefined) lookingUp = lookups.tend(stopping.signal);
      await ensureFirst().catch((err) => logger.warn({ err }, 'the first operator could not be created yet'));
    },
    notReady: createDatabaseProbe(database),
    // Streams last as long as a page is open.
    drain: async () => stopping.abort(new ConnectError('The gateway is stopping.', Code.Unavailable)),
    async [Symbol.asyncDispose]() {
      stopping.abort();
      await Promise.all([tending, lookingUp]);
      await alerts[Symbol.asyncDispose]();
      await relay[Symbol.asyncDispose]();
      await sender[Symbol.asyncDispose]();
      await figures[Symbol.asyncDispose]();
    },
  };
}

/** Who may sign in from a client. Groups of tokens are known by their names. */
function personRules(oidc: AdminConfig['oidc'], { groups }: Pick<AdminPeers, 'groups'>): PersonRules {
  return new PersonRules({
    issuer: oidc?.issuer ?? '',
    groups: oidc?.peopleGroups ?? new Map(),
    groupIds: async () => {
      const known = await groups.listGroups({}, { timeoutMs: 10_000 });
      return new Map(known.groups.map(({ name, groupId }) => [name, groupId]));
    },
  });
}

/** Creates the operator of ADMIN_TOKEN, once, as soon as the database answers. */
function firstOperator({ adminToken }: AdminConfig, operators: OperatorStore): () => Promise<void> {
  let made: Promise<unknown> | undefined;
  return async () => {
    if (adminToken === undefined) return;
    made ??= operators.addFirst(firstOperatorName, adminToken.reveal());
    await made.catch((thrown) => {
      made = undefined;
      throw thrown;
    });
  };
}

/**
 * The admin service as a process of its own, with the Postgres at DATABASE_URL and the other
 * services.
 */
export async function createAdminFromEnvironment(env: Environment, runtime: ServiceRuntime): Promise<AdminService> {
  const config = readAdminProcessConfig(env);
  const { openPostgres } = await import('@gateway/database/postgres');
  await using stack = new AsyncDisposableStack();
  const openChannel = await peerChannels(runtime, stack);
  const channels = new Map<PeerName, ReturnType<typeof openChannel>>();
  const channelOf = (name: PeerName) =>
    channels.getOrInsertComputed(name, () => openChannel(name, config.peerUrls[name]));
  const peers: AdminPeers = {
    ...peersOf((service, name) => channelOf(name).client(service)),
    adapters: new Map(
      config.adapters.map(({ format, name, url }) => [format, openChannel(name, url).client(AdapterService)]),
    ),
    replicas: stack.use(networkReplicas(config.metricsUrls, runtime.tls)),
    edgeUrl: config.edgeUrl,
  };
  const database = openPostgres(config.databaseUrl, { applicationName: 'admin', metrics: runtime.metrics });
  stack.defer(() => database.destroy());
  const service = stack.use(createAdminService(config, peers, { database }, runtime));
  const running = stack.move();
  return { ...service, [Symbol.asyncDispose]: () => running.disposeAsync() };
}
