import { GatewayError } from '@gateway/errors';
import type { AdapterService } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import type { Handlers } from '@gateway/rpc';
import { monotonicMs } from '@gateway/time';
import type { AdapterContext } from '../adapter-context.ts';
import type { ProviderAccount } from '../credentials/credential-cache.ts';
import { UpstreamError } from '../upstream/upstream-exchange.ts';
import { modelListCause, readModelListOf } from './list-models.ts';

/**
 * The handler of AdapterService.ProbeAccount. Throws `providers_unavailable` when the account has
 * no usable credential, so that its provider can't be asked.
 */
export function probeAccount(context: AdapterContext): Handlers<typeof AdapterService>['probeAccount'] {
  return async ({ accountId }, { signal }) => {
    const account = await currentAccount(context, accountId);
    const startedMs = monotonicMs();
    const answer = await answerOf(context, account, signal);
    return { ...answer, durationMs: Math.max(1, Math.round(monotonicMs() - startedMs)) };
  };
}

/** An operator who has just replaced a credential asks about the new one. */
async function currentAccount({ credentials }: AdapterContext, accountId: string): Promise<ProviderAccount> {
  try {
    return await credentials.ofAccountNow(accountId);
  } catch (cause) {
    if (cause instanceof GatewayError) throw cause;
    // Otherwise the caller would take the broker's silence for this adapter's.
    throw new GatewayError('providers_unavailable', `The pool-broker does not answer: ${modelListCause(cause)}`, {
      cause,
    });
  }
}

async function answerOf(context: AdapterContext, account: ProviderAccount, signal: AbortSignal) {
  try {
    return { upstreamStatus: 200, modelCount: (await readModelListOf(context, account, signal)).length };
  } catch (thrown) {
    return { upstreamStatus: statusOf(thrown), cause: modelListCause(thrown) };
  }
}

/** A body that is not a list came with status 200. */
function statusOf(thrown: unknown): number {
  if (thrown instanceof UpstreamError) return 0;
  return thrown instanceof GatewayError ? (thrown.upstreamStatus ?? 200) : 200;
}
