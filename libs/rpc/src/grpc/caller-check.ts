import { MultiplexService } from '@gateway/proto/rpc/v1/multiplex_service_pb.js';
import { type ServerDuplexStream, ServerInterceptingCall, type ServerInterceptor, status } from '@grpc/grpc-js';
import { mayCall, serviceNamesIn } from '../call-table.ts';
import { RpcError } from '../errors.ts';
import { pathOf } from '../methods.ts';

/** What was not let in. */
export type Refusal =
  /** A call. `caller`: the names in its certificate. */
  | { readonly path: string; readonly caller: readonly string[] }
  /** A connection, as its handshake failed. */
  | { readonly address: string | undefined; readonly problem: string };

export type OnRefused = (refusal: Refusal) => void;

/** Lets callers call what the call table gives them: each by itself, and on a shared stream. */
export class CallerCheck {
  readonly #onRefused: OnRefused | undefined;

  constructor(onRefused: OnRefused | undefined) {
    this.#onRefused = onRefused;
  }

  /** For a server of grpc-js. */
  readonly interceptor: ServerInterceptor = ({ path }, call) =>
    new ServerInterceptingCall(call, {
      start: (next) => {
        const refusal = isForAll(path) ? undefined : this.#refusal(call, path);
        if (refusal === undefined) return next();
        call.sendStatus({ code: status.PERMISSION_DENIED, details: refusal.message });
      },
    });

  /** What the caller that opened a shared stream may call there; throws for all else. */
  ofStream(stream: ServerDuplexStream<object, object>): (path: string) => void {
    return (path) => {
      const refusal = this.#refusal(stream, path);
      if (refusal !== undefined) throw refusal;
    };
  }

  #refusal(call: Authenticated, path: string): RpcError | undefined {
    const caller = serviceNamesIn(call.getAuthContext()?.sslPeerCertificate?.subjectaltname);
    if (mayCall(caller, path)) return undefined;
    this.#onRefused?.({ path, caller });
    return new RpcError('permission_denied', `${caller.join(', ') || 'A caller without a name'} may not call ${path}.`);
  }
}

type Authenticated = Pick<ServerDuplexStream<object, object>, 'getAuthContext'>;

/** Health and reflection; and shared streams, on which each call is checked by itself. */
function isForAll(path: string): boolean {
  return path.startsWith('/grpc.') || path === openPath;
}

const openPath = pathOf(MultiplexService.method.open);
