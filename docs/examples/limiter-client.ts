/**
 * Holds a key to its limits from a program of your own, written from the proto files alone:
 *
 *     node docs/examples/limiter-client.ts 127.0.0.1:50051
 *
 * It asks for six requests at a limit of five, settles what the first one used, and decides a batch over the stream.
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Client, credentials, Metadata, type ServiceDefinition } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

interface Decision {
  readonly status: {
    readonly localDay: string;
    /** A zero is not sent: it comes as an absent field. */
    readonly requests?: { readonly limit?: number; readonly remaining?: number };
  };
  /** Absent when the request was admitted. */
  readonly refusal?: {
    readonly limit: string;
    readonly retryAt?: { readonly seconds?: string; readonly nanos?: number };
  };
}

const [address = '127.0.0.1:50051'] = process.argv.slice(2);
const includeDirs = [fileURLToPath(new URL('../../proto', import.meta.url))];
const file = loadSync('gateway/limiter/v1/limiter_service.proto', { includeDirs, longs: String, enums: String });
const methods = file['gateway.limiter.v1.LimiterService'] as ServiceDefinition;
const client = new Client(address, credentials.createInsecure());
const key = `example:${randomUUID()}`;
const limits = { requestsPerMinute: 5, tokensPerDay: 10_000 };

// The id makes a call repeatable: asked again with the same one, it takes no second slot.
const requestIds = Array.from({ length: 6 }, () => randomUUID());
const decisions: Decision[] = [];
for (const requestId of requestIds) decisions.push(await call<Decision>('Admit', { key, requestId, limits }));
for (const decision of decisions) print(describeDecision(decision));

// Settle once the size of a request is known, on the day that its admission answered.
const localDay = decisions[0]?.status.localDay;
const settlement = { key, requestId: requestIds[0], localDay, tokens: 1_234 };
const { usedTokens } = await call<{ readonly usedTokens: string }>('Settle', settlement);
print(`used on ${localDay}: ${usedTokens} tokens`);

for (const decision of await admitBatch(['a', 'b', 'c'])) print(`in a batch: ${describeDecision(decision)}`);
client.close();

/** One call with a deadline: without one, a call to a service that hangs waits for ever. */
function call<Response>(name: string, request: object): Promise<Response> {
  const { path, requestSerialize, responseDeserialize } = methodOf(name);
  const deadline = { deadline: Date.now() + 1_000 };
  const { promise, resolve, reject } = Promise.withResolvers<Response>();
  client.makeUnaryRequest(
    path,
    requestSerialize,
    responseDeserialize,
    request,
    new Metadata(),
    deadline,
    (error, response) =>
      // The proto file says that this method answers so.
      error ? reject(error) : resolve(response as Response),
  );
  return promise;
}

/** Many checks in one message; a caller with a steady stream of them keeps the stream open. */
async function admitBatch(names: readonly string[]): Promise<readonly Decision[]> {
  const { path, requestSerialize, responseDeserialize } = methodOf('AdmitStream');
  const stream = client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize);
  stream.end({ checks: names.map((name) => ({ key: `${key}:${name}`, requestId: randomUUID(), limits })) });
  const [response]: { readonly decisions: readonly Decision[] }[] = await once(stream, 'data');
  return response?.decisions ?? [];
}

function describeDecision({ status, refusal }: Decision): string {
  if (refusal === undefined) return `admitted, ${status.requests?.remaining ?? 0} of ${status.requests?.limit} left`;
  const { limit, retryAt } = refusal;
  if (retryAt === undefined) return `refused by ${limit}, for as long as it stands`;
  const retryAtMs = Number(retryAt.seconds ?? 0) * 1_000 + (retryAt.nanos ?? 0) / 1e6;
  return `refused by ${limit}, free again in ${Math.ceil((retryAtMs - Date.now()) / 1_000)} s`;
}

function methodOf(name: string) {
  const method = methods[name];
  if (method === undefined) throw new Error(`the proto file has no method ${name}`);
  return method;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
