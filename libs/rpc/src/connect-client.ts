import type { DescService } from '@bufbuild/protobuf';
import { createClient } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import { fromConnectError } from './connect.ts';
import type { CallOptions, Client } from './service-types.ts';

type AnyCall = (request: unknown, options?: CallOptions) => Promise<unknown>;

/** A client of the unary RPCs that a service offers on its admin port, over plain HTTP/1.1. */
export function connectClient<S extends DescService>(service: S, baseUrl: string): Client<S> {
  const transport = createConnectTransport({ baseUrl, httpVersion: '1.1', useBinaryFormat: false });
  const client: Readonly<Record<string, unknown>> = createClient(service, transport);
  const calls = service.methods
    .filter((method) => method.methodKind === 'unary')
    .map((method) => [method.localName, withGatewayErrors(client[method.localName] as AnyCall)]);
  // Streams are left out: operators' tools make single calls.
  return Object.fromEntries(calls) as Client<S>;
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
