import { z } from 'zod';
import type { BilledReport } from '../billing.ts';
import type { ActiveFault } from '../faults/fault-book.ts';
import { type FaultScript, faultScriptSchema } from '../faults/fault-script.ts';
import type { ModelsChange, ModelsState } from '../models.ts';
import type { TokenFamily } from '../oauth/token-families.ts';
import type { RequestFilter } from '../record.ts';
import type { RecordedRequest } from '../request-record.ts';
import { controlPrefix } from './control-routes.ts';

/** The verbs of a simulator in another process. */
export interface SimulatorControl {
  /** Without a limit: at most the newest thousand. */
  requests(filter?: RequestFilter): Promise<readonly RecordedRequest[]>;
  billed(): Promise<BilledReport>;
  readonly faults: {
    add(script: FaultScript): Promise<number>;
    clear(id?: number): Promise<void>;
    list(): Promise<readonly ActiveFault[]>;
  };
  readonly models: {
    get(): Promise<ModelsState>;
    set(change: ModelsChange): Promise<void>;
  };
  readonly oauth: {
    grant(account: string, refreshToken?: string): Promise<string>;
    revoke(account: string): Promise<void>;
    families(): Promise<readonly TokenFamily[]>;
  };
  reset(): Promise<void>;
}

/**
 * A client for the control interface of the simulator at `url` (scheme, host and port). Every call ends within ten seconds.
 *
 * @throws Error with the simulator's explanation when it refuses.
 */
export function simulatorControl(url: string): SimulatorControl {
  const call = new ControlCall(url);
  return {
    requests: async (filter = {}) => requestsSchema.parse(await call.get('requests', filter)).requests.map(fromWire),
    billed: async () => billedSchema.parse(await call.get('billed')),
    faults: {
      add: async (script) => idSchema.parse(await call.send('POST', 'faults', script)).id,
      clear: async (id) => void (await call.send('DELETE', id === undefined ? 'faults' : `faults?id=${id}`)),
      list: async () => faultsSchema.parse(await call.get('faults')).faults,
    },
    models: {
      get: async () => modelsSchema.parse(await call.get('models')),
      set: async (change) => void (await call.send('POST', 'models', change)),
    },
    oauth: {
      grant: async (account, refreshToken) =>
        grantSchema.parse(await call.send('POST', 'oauth', { account, refreshToken })).refreshToken,
      revoke: async (account) => void (await call.send('DELETE', `oauth?${new URLSearchParams({ account })}`)),
      families: async () => familiesSchema.parse(await call.get('oauth')).families,
    },
    reset: async () => void (await call.send('POST', 'reset')),
  };
}

const deadlineMs = 10_000;

class ControlCall {
  readonly #base: URL;

  constructor(url: string) {
    this.#base = new URL(controlPrefix, url);
  }

  get(name: string, filter: object = {}): Promise<unknown> {
    const wanted = Object.entries(filter).filter(([, value]) => value !== undefined);
    const query = new URLSearchParams(wanted.map(([key, value]) => [key, String(value)]));
    return this.#call(`${name}?${query}`, { method: 'GET' });
  }

  send(method: 'POST' | 'DELETE', name: string, body?: unknown): Promise<unknown> {
    return this.#call(name, { method, body: body === undefined ? undefined : JSON.stringify(body) });
  }

  async #call(name: string, init: { readonly method: string; readonly body?: string | undefined }): Promise<unknown> {
    const response = await fetch(new URL(name, this.#base), { ...init, signal: AbortSignal.timeout(deadlineMs) });
    const text = await response.text();
    if (!response.ok) throw new Error(`The simulator answered ${response.status} to ${init.method} ${name}: ${text}`);
    return JSON.parse(text);
  }
}

const billedTokens = {
  inputTokens: z.number(),
  cachedTokens: z.number(),
  outputTokens: z.number(),
  reasoningTokens: z.number(),
};
const billedTotal = z.object({ requests: z.number(), ...billedTokens });
const billedSchema = z.object({ total: billedTotal, accounts: z.record(z.string(), billedTotal) });
const idSchema = z.object({ id: z.number() });
const formatName = z.enum(['responses', 'messages']);

const modelsSchema = z.object({
  responses: z.array(z.string()),
  messages: z.array(z.string()),
  unreachable: z.array(formatName),
});

const grantSchema = z.object({ refreshToken: z.string() });

const familiesSchema = z.object({
  families: z.array(
    z.object({
      account: z.string(),
      revoked: z.boolean(),
      refreshes: z.number(),
      reuses: z.number(),
      mostAtOnce: z.number(),
    }),
  ),
});

const faultsSchema = z.object({
  faults: z.array(
    z.object({
      id: z.number(),
      script: faultScriptSchema,
      timesLeft: z.number().nullable(),
      endsAtMs: z.number().nullable(),
    }),
  ),
});

const requestsSchema = z.object({
  requests: z.array(
    z.object({
      id: z.number(),
      requestId: z.string(),
      receivedAtMs: z.number(),
      account: z.string().nullable(),
      method: z.string(),
      path: z.string(),
      query: z.string(),
      headers: z.record(z.string(), z.string()),
      bodyBase64: z.string(),
      bodyBytes: z.number(),
      json: z.unknown().optional(),
      model: z.string().nullable(),
      stream: z.boolean(),
      status: z.number().nullable(),
      outcome: z.enum(['running', 'completed', 'refused', 'cancelled', 'faulted']),
      endedAtMs: z.number().nullable(),
      faults: z.array(z.string()),
      eventsSent: z.number(),
      billed: z.object(billedTokens),
    }),
  ),
});

function fromWire({
  bodyBase64,
  json,
  ...request
}: z.infer<typeof requestsSchema>['requests'][number]): RecordedRequest {
  return { ...request, json, body: Uint8Array.from(Buffer.from(bodyBase64, 'base64')) };
}
