import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { controlRoutes } from './control-routes.ts';
import { FaultBook } from './faults/fault-book.ts';
import type { FaultScript } from './faults/fault-script.ts';
import { messagesFormat } from './messages/format.ts';
import { Models } from './models.ts';
import { type TokenEndpointOptions, TokenFamilies } from './oauth/token-families.ts';
import type { Provider } from './provider.ts';
import { Recorder } from './record.ts';
import type { ResponsesBackend } from './responses/check-request.ts';
import { responsesFormat } from './responses/format.ts';
import { serveRequest } from './serve-request.ts';
import type { SimulatorVerbs } from './simulator-verbs.ts';

export interface SimulatorOptions {
  /** How many of the newest requests the record keeps. Default 10,000. */
  readonly maximumRequests?: number;
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Default 0: any free port. */
  readonly port?: number;
  readonly responsesModels?: readonly string[] | undefined;
  readonly messagesModels?: readonly string[] | undefined;
  /**
   * `subscription` simulates a backend that only streams, stores nothing, accepts fewer parameters
   * and leaves the final output empty. Default `api`.
   */
  readonly responsesBackend?: ResponsesBackend;
  /** The interval between two events of a stream. Default 0: as fast as the client reads. */
  readonly eventDelayMs?: number | undefined;
  readonly faults?: readonly FaultScript[];
  /** The token endpoint, `POST /oauth/token`. */
  readonly oauth?: TokenEndpointOptions;
}

/** A running simulator. Disposal closes its port and all connections. */
export interface Simulator extends SimulatorVerbs, AsyncDisposable {
  /** Without a path: `http://127.0.0.1:8090`. */
  readonly url: string;
  readonly port: number;
}

/**
 * Starts both simulated providers on one port.
 *
 * @throws when the port can't be opened; the error's `code` is Node's, such as `EADDRINUSE`.
 */
export async function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const provider = createProvider(options);
  const { recorder, faults, models, tokens } = provider;
  const verbs: SimulatorVerbs = {
    requests: (filter) => recorder.requests(filter),
    billed: () => recorder.billed(),
    faults,
    models,
    oauth: tokens,
    reset: () => {
      recorder.reset();
      faults.clear();
      models.reset();
    },
  };
  const control = express().use('/_simulator', controlRoutes(verbs));
  const server = createServer({ requestTimeout: 0, keepAliveTimeout: 60_000 }, (request, response) => {
    if (request.url?.startsWith('/_simulator/')) control(request, response);
    else void serveRequest(provider, request, response);
  });
  const port = await listen(server, options);
  const host = options.host ?? defaultHost;
  const urlHost = host.includes(':') ? `[${host}]` : host;
  return { ...verbs, port, url: `http://${urlHost}:${port}`, [Symbol.asyncDispose]: () => close(server) };
}

const defaultHost = '127.0.0.1';

function createProvider(options: SimulatorOptions): Provider {
  const faults = new FaultBook();
  for (const script of options.faults ?? []) faults.add(script);
  return {
    formats: { responses: responsesFormat(options.responsesBackend ?? 'api'), messages: messagesFormat },
    tokens: new TokenFamilies(options.oauth ?? {}),
    models: new Models({ responses: options.responsesModels, messages: options.messagesModels }),
    faults,
    recorder: new Recorder(options.maximumRequests ?? 10_000),
    eventDelayMs: options.eventDelayMs ?? 0,
  };
}

async function listen(server: Server, { host = defaultHost, port = 0 }: SimulatorOptions): Promise<number> {
  server.listen(port, host);
  await once(server, 'listening');
  const address = server.address() as AddressInfo;
  return address.port;
}

async function close(server: Server): Promise<void> {
  server.close();
  server.closeAllConnections();
  await once(server, 'close');
}
