import { ConfigError, type Environment, EnvReader } from '@gateway/config';
import { RequestTraceService } from '@gateway/proto/edge/v1/request_trace_service_pb.js';
import type { Client } from '@gateway/rpc';
import { connectClient } from '@gateway/rpc/connect-client';
import { findGateway } from './control-plane.ts';

/** An edge that can be asked for the requests it served. */
export interface Edge {
  /** Of its admin port. */
  readonly url: string;
  readonly traces: Client<typeof RequestTraceService>;
}

/**
 * The edges at the given admin addresses; else those of GATEWAY_EDGE_URLS; else the running gateway, which has one in it.
 * Throws ConfigError when there is none to ask.
 */
export async function openEdges(env: Environment, urls: readonly string[]): Promise<readonly Edge[]> {
  const named = urls.length > 0 ? urls : urlsOf(new EnvReader(env).optional('GATEWAY_EDGE_URLS'));
  const wrong = named.find((url) => !/^https?:\/\//.test(url));
  if (wrong !== undefined) throw new ConfigError([`${wrong} is not a URL. For example: ${example}`]);
  const found = named.length > 0 ? named : [await findGateway(env)].filter((url) => url !== undefined);
  if (found.length === 0) throw new ConfigError([`No gateway runs here. Name the admin ports of edges: ${example}`]);
  return found.map((url) => ({ url, traces: connectClient(RequestTraceService, url) }));
}

const example = '--edge http://127.0.0.1:9090 (again for each edge), or GATEWAY_EDGE_URLS with commas between them';

function urlsOf(list: string | undefined): readonly string[] {
  return (list ?? '')
    .split(',')
    .map((url) => url.trim().replace(/\/+$/, ''))
    .filter((url) => url !== '');
}
