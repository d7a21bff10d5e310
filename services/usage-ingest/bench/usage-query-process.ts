import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { UsageReportService } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { UsageQueryService } from '@gateway/proto/usage/v1/usage_service_pb.js';
import { connectClient } from '@gateway/rpc/connect-client';
import { freePorts } from '@gateway/testkit';

/** Runs usage-query on a database, as a process of its own. */
export async function startUsageQuery(databaseUrl: string) {
  const [grpcPort, adminPort] = await freePorts(2);
  const url = `http://127.0.0.1:${adminPort}`;
  const main = fileURLToPath(new URL('../../usage-query/src/main.ts', import.meta.url));
  const env = {
    PATH: process.env.PATH,
    DATABASE_URL: databaseUrl,
    GRPC_PORT: String(grpcPort),
    ADMIN_PORT: String(adminPort),
    LOG_LEVEL: 'warn',
  };
  const child = spawn(process.execPath, [main], { env, stdio: ['ignore', 'inherit', 'inherit'] });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  await untilReady(url);
  return {
    query: connectClient(UsageQueryService, url),
    report: connectClient(UsageReportService, url),
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

async function untilReady(url: string): Promise<void> {
  for (let attempt = 0; attempt < 300; attempt++) {
    const ready = await fetch(`${url}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (ready) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`usage-query is not ready at ${url}`);
}
