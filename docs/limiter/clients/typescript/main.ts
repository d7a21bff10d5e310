import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type Certificates, type Decision, Limiter } from './limiter.ts';

// Makes six requests at a limit of five, the first one twice; settles the first one; decides a
// batch.
//
//   node main.ts 127.0.0.1:50051

using limiter = new Limiter({
  address: process.argv[2] ?? '127.0.0.1:50051',
  certificates: readCertificates(process.env),
  timeoutMs: Number(process.env.LIMITER_TIMEOUT_MS ?? 500),
});
const key = `my-service:${randomUUID()}`;
const limits = { requestsPerMinute: 5, tokensPerDay: 10_000 };
const requestIds = Array.from({ length: 6 }, () => randomUUID());

const first = await limiter.admit({ key, requestId: requestIds[0] ?? '', limits });
for (const requestId of requestIds) print(describe(await limiter.admit({ key, requestId, limits })));

if (first.kind === 'admitted') {
  const used = await limiter.settle(key, requestIds[0] ?? '', first.localDay, 1_234);
  print(typeof used === 'number' ? `used on ${first.localDay}: ${used} tokens` : `not settled: ${used.reason}`);
}

const batch = ['a', 'b', 'c'].map((name) => ({ key: `${key}:${name}`, requestId: randomUUID(), limits }));
for (const decision of await limiter.admitAll(batch)) print(`in a batch: ${describe(decision)}`);

function describe(decision: Decision): string {
  switch (decision.kind) {
    case 'admitted':
      return `admitted, ${decision.remainingRequests} left`;
    case 'refused':
      return `refused by ${decision.limit}, free again in ${Math.ceil(decision.retryAfterMs / 1_000)} s`;
    case 'unanswered':
      return 'no limiter answered: this service goes by its own rule';
  }
}

/** The same variables as those of the gateway's services. */
function readCertificates({ TLS_CA_FILE, TLS_CERT_FILE, TLS_KEY_FILE }: NodeJS.ProcessEnv): Certificates | undefined {
  if (!TLS_CA_FILE || !TLS_CERT_FILE || !TLS_KEY_FILE) return undefined;
  return { ca: readFileSync(TLS_CA_FILE), cert: readFileSync(TLS_CERT_FILE), key: readFileSync(TLS_KEY_FILE) };
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
