import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/** The requests that connections are busy with, by their answers. Pipelined ones are under way together; their answers go out in order. */
export const exchanges = { begin, latest, whenAnswered };

/** False when the connection ends with an earlier answer: whatever comes after it must not be acted on. */
function begin(connection: BusyConnection, response: ServerResponse): boolean {
  const earlier = connection[latestAnswer];
  if (earlier !== undefined && !earlier.shouldKeepAlive) return false;
  connection[latestAnswer] = response;
  return true;
}

/** The answer to the request that came last, sent or not. */
function latest(connection: BusyConnection): ServerResponse | undefined {
  return connection[latestAnswer];
}

/** Acts when every request of the connection has been answered and it is still open. */
function whenAnswered(connection: BusyConnection, act: () => void): void {
  const response = connection[latestAnswer];
  if (response === undefined || response.writableFinished) act();
  else response.once('finish', act);
}

/** Stands in the connection: a map of all connections would be written with each request. */
const latestAnswer = Symbol('latest answer');

interface BusyConnection extends Duplex {
  [latestAnswer]?: ServerResponse;
}
