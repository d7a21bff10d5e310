// Loaded into a program by `node --import`: measures the longest turn of its event loop, in CPU
// time of its main thread. `/start` at the port TURN_METER_PORT begins a measurement, `/stop` ends
// it and answers with the milliseconds.

import { createServer } from 'node:http';
import { isMainThread } from 'node:worker_threads';

const port = Number(process.env.TURN_METER_PORT);
if (isMainThread && port > 0) createServer(answer).listen(port, '127.0.0.1').unref();

let isMeasuring = false;
let longestMicros = 0;

function answer({ url }: { readonly url?: string | undefined }, response: { end(text: string): void }): void {
  const wasMeasuring = isMeasuring;
  isMeasuring = url === '/start';
  if (isMeasuring) longestMicros = 0;
  if (isMeasuring && !wasMeasuring) measure(process.threadCpuUsage());
  response.end(String(longestMicros / 1_000));
}

/** The check phase comes once in every turn. */
function measure(before: ReturnType<typeof process.threadCpuUsage>): void {
  setImmediate(() => {
    const now = process.threadCpuUsage();
    longestMicros = Math.max(longestMicros, now.user - before.user + now.system - before.system);
    if (isMeasuring) measure(now);
  });
}
