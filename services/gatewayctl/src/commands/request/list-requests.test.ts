import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { TraceFilter } from '@gateway/proto/edge/v1/request_trace_service_pb.js';
import { describe, expect, it } from 'vitest';
import type { Edge } from '../../control-plane/edges.ts';
import { RememberingTerminal } from '../../output/__fixtures__/remembering-terminal.ts';
import { edgeWith, movedRequest } from './__fixtures__/edges.ts';
import { type ListFlags, listRequests } from './list-requests.ts';

async function listed(edges: readonly Edge[], flags: Partial<ListFlags> = {}) {
  const terminal = new RememberingTerminal();
  await listRequests(edges, { last: 20, ...flags }, terminal);
  return terminal;
}

const at = (requestId: string, ms: number) => movedRequest({ requestId, receivedAt: timestampFromMs(ms) });

describe('gatewayctl request list', () => {
  it('merges what edges remember, newest first, up to the number asked for', async () => {
    const edges = [edgeWith(at('c', 3), at('a', 1)), edgeWith(at('d', 4), at('b', 2))];
    const { lines } = await listed(edges, { last: 3 });
    expect(lines.slice(1).map((line) => line.split(/\s+/)[1])).toEqual(['d', 'c', 'b']);
    expect(lines[1]).toContain('responses/team-a → responses/team-b');
    expect(lines[1]).toContain('completed with 200 (moved)');
  });

  it('hands its filters to every edge', async () => {
    const edge = edgeWith();
    const { printed, notes } = await listed([edge], { token: 't', model: 'm', status: 'moved', last: 7 });
    expect(edge.asked).toMatchObject([{ tokenId: 't', model: 'm', filter: TraceFilter.MOVED, limit: 7 }]);
    expect(printed).toBe('');
    expect(notes).toHaveLength(1);
  });

  it('can be JSON, one request a line', async () => {
    const { lines } = await listed([edgeWith(at('a', 1), at('b', 2))], { json: true });
    expect(lines.map((line) => JSON.parse(line).requestId)).toEqual(['b', 'a']);
  });
});
