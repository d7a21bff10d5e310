import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { RequestLogged } from '@gateway/proto/usage/v1/request_log_pb.js';
import { RequestFilter } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { describe, expect, it } from 'vitest';
import { RememberingTerminal } from '../../__fixtures__/remembering-terminal.ts';
import { type ListFlags, listRequests } from '../request.ts';
import { movedRequest, reportOf } from './__fixtures__/moved-request.ts';

async function listed(logs: readonly RequestLogged[], flags: Partial<ListFlags> = {}) {
  const terminal = new RememberingTerminal();
  const report = reportOf(logs);
  await listRequests(report, { last: 20, ...flags });
  return { terminal, asked: report.asked };
}

const at = (requestId: string, ms: number) => movedRequest({ requestId, receivedAt: timestampFromMs(ms) });

describe('gatewayctl request list', () => {
  it('has a line for each request, as the log gives them', async () => {
    const { lines } = (await listed([at('d', 4), at('c', 3)])).terminal;
    expect(lines.slice(1).map((line) => line.split(/\s+/)[1])).toEqual(['d', 'c']);
    expect(lines[1]).toContain('responses/team-a → responses/team-b');
    expect(lines[1]).toContain('completed with 200 (moved)');
  });

  it('asks for what its flags say', async () => {
    const { terminal, asked } = await listed([], { token: 't', model: 'm', status: 'moved', last: 7 });
    expect(asked).toMatchObject([{ tokenId: 't', model: 'm', filter: RequestFilter.MOVED, limit: 7 }]);
    expect(terminal.printed).toBe('');
    expect(terminal.notes).toHaveLength(1);
  });

  it('can be JSON, one request a line', async () => {
    const { lines } = (await listed([at('b', 2), at('a', 1)], { json: true })).terminal;
    expect(lines.map((line) => JSON.parse(line).requestId)).toEqual(['b', 'a']);
  });
});
