import type { IncomingMessage, ServerResponse } from 'node:http';
import { z } from 'zod';
import { readBody } from './exchange.ts';
import { faultScriptSchema } from './faults/fault-script.ts';
import { ProviderRefusal } from './provider-format.ts';
import type { RecordedRequest, RequestFilter } from './record.ts';
import type { SimulatorVerbs } from './simulator.ts';

export const controlPrefix = '/_simulator/';

/** A recorded request as it travels over HTTP: its bytes in base64. */
export type WireRequest = Omit<RecordedRequest, 'body'> & { readonly bodyBase64: string };

/** Serves the control interface: reading the record, scripting faults, changing models. */
export async function serveControl(
  verbs: SimulatorVerbs,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = new URL(request.url ?? '', 'http://simulator');
  const name = `${request.method} ${url.pathname.slice(controlPrefix.length)}`;
  try {
    const bytes = await readBody(request, maximumBytes);
    const route = routes[name];
    if (route === undefined) throw new ProviderRefusal({ status: 404, message: `No such control: ${name}` });
    sendJson(response, 200, route(verbs, { query: url.searchParams, body: () => JSON.parse(bytes.toString()) }));
  } catch (thrown) {
    sendProblem(response, thrown);
  }
}

const maximumBytes = 1024 * 1024;

interface ControlRequest {
  readonly query: URLSearchParams;
  readonly body: () => unknown;
}

const routes: Readonly<Record<string, (verbs: SimulatorVerbs, request: ControlRequest) => unknown>> = {
  'GET requests': (verbs, { query }) => ({ requests: verbs.requests(readFilter(query)).map(toWire) }),
  'GET billed': (verbs) => verbs.billed(),
  'GET faults': (verbs) => ({ faults: verbs.faults.list() }),
  'POST faults': (verbs, { body }) => ({ id: verbs.faults.add(faultScriptSchema.parse(body())) }),
  'DELETE faults': (verbs, { query }) => {
    verbs.faults.clear(faultIdSchema.parse(query.get('id') ?? undefined));
    return {};
  },
  'GET models': (verbs) => verbs.models.get(),
  'POST models': (verbs, { body }) => {
    verbs.models.set(modelsSchema.parse(body()));
    return verbs.models.get();
  },
  'POST reset': (verbs) => {
    verbs.reset();
    return {};
  },
};

const faultIdSchema = z.coerce.number().int().optional();

const modelsSchema = z.strictObject({
  responses: z.array(z.string()).optional(),
  messages: z.array(z.string()).optional(),
  unreachable: z.array(z.enum(['responses', 'messages'])).optional(),
});

/** Without a limit only the newest thousand are sent, so that one answer stays of a readable size. */
const filterSchema = z.strictObject({
  account: z.string().optional(),
  path: z.string().optional(),
  model: z.string().optional(),
  outcome: z.enum(['running', 'completed', 'refused', 'cancelled', 'faulted']).optional(),
  afterId: z.coerce.number().optional(),
  limit: z.coerce.number().int().min(0).default(1000),
});

function readFilter(query: URLSearchParams): RequestFilter {
  return filterSchema.parse(Object.fromEntries(query));
}

function toWire({ body, ...request }: RecordedRequest): WireRequest {
  return { ...request, bodyBase64: Buffer.from(body).toString('base64') };
}

function sendProblem(response: ServerResponse, thrown: unknown): void {
  if (response.destroyed) return;
  if (thrown instanceof ProviderRefusal) {
    sendJson(response, thrown.refusal.status, { error: { message: thrown.message } });
  } else if (thrown instanceof z.ZodError) {
    sendJson(response, 400, { error: { message: z.prettifyError(thrown) } });
  } else if (thrown instanceof SyntaxError) {
    sendJson(response, 400, { error: { message: 'The body is not valid JSON.' } });
  } else {
    sendJson(response, 500, { error: { message: String(thrown) } });
  }
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
