import type { DescMethod } from '@bufbuild/protobuf';
import { Code, ConnectError, type ConnectRouter, type HandlerContext, type ServiceImpl } from '@connectrpc/connect';
import { fromErrorDetail, type GatewayError, toErrorDetail, toGatewayError } from '@gateway/errors';
import { ErrorDetailSchema } from '@gateway/proto/error/v1/error_detail_pb.js';
import { RpcError } from './rpc-error.ts';
import type { CallContext, ServiceRoute } from './service-types.ts';
import { statusNumberOf } from './status-number.ts';

/**
 * Offers routes over the Connect protocol, which any HTTP client can speak: `curl -d '{}' -H 'content-type: application/json'`
 * on `/<package>.<Service>/<Method>`. For operators; services call each other over gRPC.
 */
export function addConnectRoutes(router: ConnectRouter, routes: readonly ServiceRoute[]): void {
  for (const route of routes) {
    const handlers = route.service.methods.map((method) => [method.localName, connectHandler(method, route)]);
    router.service(route.service, Object.fromEntries(handlers) as ServiceImpl<typeof route.service>);
  }
}

/** The GatewayError or RpcError that a failed Connect call stands for. */
export function fromConnectError(thrown: unknown): GatewayError | RpcError {
  const error = ConnectError.from(thrown);
  const [detail] = error.findDetails(ErrorDetailSchema);
  if (detail !== undefined) return fromErrorDetail(detail);
  return new RpcError(error.code === Code.Unavailable ? 'unavailable' : 'internal', error.rawMessage, {
    cause: thrown,
  });
}

type AnyHandler = (request: unknown, context: CallContext) => Promise<object> & AsyncIterable<object>;

function connectHandler(method: DescMethod, route: ServiceRoute) {
  const handler = route.handlers[method.localName] as AnyHandler;
  if (method.methodKind === 'unary' || method.methodKind === 'client_streaming') {
    return async (request: unknown, context: HandlerContext) => {
      try {
        return await handler(request, context);
      } catch (thrown) {
        throw toConnectError(thrown);
      }
    };
  }
  return async function* (request: unknown, context: HandlerContext) {
    try {
      yield* handler(request, context);
    } catch (thrown) {
      throw toConnectError(thrown);
    }
  };
}

function toConnectError(thrown: unknown): ConnectError {
  const error = thrown instanceof RpcError ? thrown : toGatewayError(thrown);
  // Connect numbers its codes as gRPC numbers its statuses, and an error is never OK.
  const code = statusNumberOf(error) as Code;
  const details = error instanceof RpcError ? [] : [{ desc: ErrorDetailSchema, value: toErrorDetail(error) }];
  return new ConnectError(error.message, code, undefined, details, thrown);
}
