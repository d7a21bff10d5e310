import type { DescMethod } from '@bufbuild/protobuf';
import { ConnectError, type ConnectRouter, type HandlerContext, type ServiceImpl } from '@connectrpc/connect';
import { fromErrorDetail, type GatewayError, toErrorDetail, toGatewayError } from '@gateway/errors';
import { ErrorDetailSchema } from '@gateway/proto/error/v1/error_detail_pb.js';
import { codeOf, isFault, type OnFault, RpcError, requestIdOf, rpcStatusOf } from './errors.ts';
import { handlerOf } from './methods.ts';
import type { ServiceRoute } from './service-types.ts';

/**
 * Offers routes over the Connect protocol, which any HTTP client can speak: `curl -d '{}' -H 'content-type: application/json'`
 * on `/<package>.<Service>/<Method>`. For operators; services call each other over gRPC.
 */
export function addConnectRoutes(router: ConnectRouter, routes: readonly ServiceRoute[], onFault?: OnFault): void {
  for (const route of routes) {
    const handlers = route.service.methods.map((method) => [method.localName, connectHandler(method, route, onFault)]);
    router.service(route.service, Object.fromEntries(handlers) as ServiceImpl<typeof route.service>);
  }
}

/** The GatewayError or RpcError that a failed Connect call stands for. */
export function fromConnectError(thrown: unknown): GatewayError | RpcError {
  const error = ConnectError.from(thrown);
  const [detail] = error.findDetails(ErrorDetailSchema);
  if (detail !== undefined) return fromErrorDetail(detail);
  // Connect numbers its codes as gRPC numbers its statuses.
  return new RpcError(rpcStatusOf(error.code), error.rawMessage, { cause: thrown });
}

function connectHandler(method: DescMethod, route: ServiceRoute, onFault: OnFault | undefined) {
  const handler = handlerOf(method, route.handlers);
  const failure = (thrown: unknown, request: object, { signal }: HandlerContext) => {
    // The caller went away, or its deadline passed: what became of its call does not matter any more.
    if (signal.aborted) return ConnectError.from(signal.reason);
    if (isFault(thrown)) onFault?.(method.toString(), thrown, requestIdOf(request));
    return toConnectError(thrown);
  };
  if (handler.answersOnce) {
    return async (request: object, context: HandlerContext) => {
      try {
        return await handler.handle(request, context);
      } catch (thrown) {
        throw failure(thrown, request, context);
      }
    };
  }
  return async function* (request: object, context: HandlerContext) {
    try {
      yield* handler.handle(request, context);
    } catch (thrown) {
      throw failure(thrown, request, context);
    }
  };
}

function toConnectError(thrown: unknown): ConnectError {
  const error = thrown instanceof RpcError ? thrown : toGatewayError(thrown);
  const details = error instanceof RpcError ? [] : [{ desc: ErrorDetailSchema, value: toErrorDetail(error) }];
  return new ConnectError(error.message, codeOf(error), undefined, details, thrown);
}
