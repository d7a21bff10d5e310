import { ConnectError, type ConnectRouter, type HandlerContext, type ServiceImpl } from '@connectrpc/connect';
import { fromErrorDetail, type GatewayError, toErrorDetail, toGatewayError } from '@gateway/errors';
import { ErrorDetailSchema } from '@gateway/proto/error/v1/error_detail_pb.js';
import { codeOf, type OnFault, RpcError, rpcStatusOf } from './errors.ts';
import { answer, answersOnce, firstOf, type ServedMethod, servedMethod } from './methods.ts';
import type { ServiceRoute } from './service-types.ts';

/**
 * Offers routes over the Connect protocol, which any HTTP client can speak: `curl -d '{}' -H 'content-type: application/json'`
 * on `/<package>.<Service>/<Method>`. For operators; services call each other over gRPC.
 */
export function addConnectRoutes(router: ConnectRouter, routes: readonly ServiceRoute[], onFault?: OnFault): void {
  for (const { service, handlers } of routes) {
    const calls = service.methods.map((method) => [
      method.localName,
      connectHandler(servedMethod(method, handlers), onFault),
    ]);
    router.service(service, Object.fromEntries(calls) as ServiceImpl<typeof service>);
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

function connectHandler(served: ServedMethod, onFault: OnFault | undefined) {
  async function* responses(request: object, { signal }: HandlerContext) {
    try {
      yield* answer(served, request, { signal }, onFault);
    } catch (thrown) {
      // Connect's own reason says whether the caller went away or its deadline passed.
      throw signal.aborted ? ConnectError.from(signal.reason) : toConnectError(thrown);
    }
  }
  if (!answersOnce(served.method)) return responses;
  return (request: object, context: HandlerContext) => firstOf(responses(request, context));
}

function toConnectError(thrown: unknown): ConnectError {
  const error = thrown instanceof RpcError ? thrown : toGatewayError(thrown);
  const details = error instanceof RpcError ? [] : [{ desc: ErrorDetailSchema, value: toErrorDetail(error) }];
  return new ConnectError(error.message, codeOf(error), undefined, details, thrown);
}
