import { readFileSync } from 'node:fs';
import { Agent } from 'node:https';
import type { DescService } from '@bufbuild/protobuf';
import { createClient } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import { identityCheck } from './call-table.ts';
import { fromConnectError } from './connect.ts';
import type { TlsFiles } from './grpc/tls.ts';
import type { CallOptions, Client } from './service-types.ts';

type AnyCall = (request: unknown, options?: CallOptions) => Promise<unknown>;

/** A client of the unary RPCs that a service offers on its admin port, over HTTP/1.1. @param tls what an `https:` URL needs. */
export function connectClient<S extends DescService>(service: S, baseUrl: string, tls?: AdminTls): Client<S> {
  const nodeOptions = tls === undefined ? {} : { agent: agentOf(tls) };
  const transport = createConnectTransport({ baseUrl, httpVersion: '1.1', useBinaryFormat: false, nodeOptions });
  const client: Readonly<Record<string, unknown>> = createClient(service, transport);
  const calls = service.methods
    .filter((method) => method.methodKind === 'unary')
    .map((method) => [method.localName, withGatewayErrors(client[method.localName] as AnyCall)]);
  // Streams are left out: operators' tools make single calls.
  return Object.fromEntries(calls) as Client<S>;
}

/** What the client proves itself with, and whose certificate the server must have. */
export interface AdminTls extends TlsFiles {
  /** Undefined: that of any service. */
  readonly service?: string | undefined;
}

function agentOf({ certFile, keyFile, caFile, service }: AdminTls): Agent {
  const [cert, key, ca] = [certFile, keyFile, caFile].map((file) => readFileSync(file));
  return new Agent({ keepAlive: true, cert, key, ca, checkServerIdentity: identityCheck(service) });
}

function withGatewayErrors(call: AnyCall): AnyCall {
  return async (request, options) => {
    try {
      return await call(request, options);
    } catch (thrown) {
      throw fromConnectError(thrown);
    }
  };
}
