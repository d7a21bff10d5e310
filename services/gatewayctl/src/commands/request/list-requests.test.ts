import { LimitName } from '@gateway/proto/limiter/v2/limit_pb.js';
import { RequestEnding } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { RequestFilter } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { describe, expect, it } from 'vitest';
import { commandLineOver, movedRequest } from './__fixtures__/moved-request.ts';

const at = (requestId: string, ms: number) => movedRequest({ requestId, receivedAtMs: ms });

describe('gatewayctl request list', () => {
  it('has a line for each request, as the log gives them', async () => {
    const { lines } = await commandLineOver([at('d', 4), at('c', 3)]).line.run('request', 'list');
    expect(lines.slice(1).map((line) => line.split(/\s{2,}/)[1])).toEqual(['d', 'c']);
    expect(lines[1]).toContain('responses/team-a → responses/team-b');
    expect(lines[1]).toContain('completed 200 (failed over)');
    expect(lines[1]).toMatch(/ ci +\/v1\/chat\/completions +gateway\/sterk /);
  });

  it('says of no failed request that it failed over', async () => {
    const failed = movedRequest({ ending: RequestEnding.FAILED, status: 503, errorCode: 'providers_unavailable' });
    const { lines } = await commandLineOver([failed]).line.run('request', 'list');
    expect(lines[1]).toMatch(/failed 503 providers_unavailable(?! \()/);
  });

  it('sends the filters of its flags', async () => {
    const { line, asked } = commandLineOver([]);
    const flags = ['--token', 'ci', '--model', 'm', '--account', 'p/a', '--endpoint', '/v1/messages', '--last', '7'];
    const { printed, notes } = await line.run(
      'request',
      'list',
      ...flags,
      '--status',
      'failed-over',
      '--since',
      '2026-11-20 09:00:00 UTC',
    );
    await line.run('request', 'list', '--status', '5xx');
    const search = { model: 'm', accountId: 'p/a', endpoint: '/v1/messages', filter: RequestFilter.MOVED };
    expect(asked).toMatchObject([{ search, token: 'ci', pageSize: 7 }, { search: { status: 500 } }]);
    expect(asked[0]?.search?.sinceMs).toBe(1_795_165_200_000);
    expect({ printed, notes }).toEqual({ printed: '', notes: 'No matching requests in the log.' });
  });

  it('says which limit of the token rejected a request', async () => {
    const refusal = { limit: LimitName.TOKENS_PER_DAY };
    const rejected = { ending: RequestEnding.REFUSED, status: 429, errorCode: 'rate_limit_exceeded', refusal };
    const { lines } = await commandLineOver([movedRequest(rejected)]).line.run('request', 'list');
    expect(lines[1]).toContain('rejected 429 rate_limit_exceeded (tokens per day)');
  });

  it.each(['rejected', 'refused'])('finds what it shows as rejected by the status %s', async (status) => {
    const { line, asked } = commandLineOver([]);
    await line.run('request', 'list', '--status', status);
    expect(asked).toMatchObject([{ search: { filter: RequestFilter.REFUSED } }]);
  });

  it('can be JSON, an array', async () => {
    const { json } = await commandLineOver([at('b', 2), at('a', 1)]).line.run('request', 'list', '-o', 'json');
    expect(json().map(({ request }: { request: { requestId: string } }) => request.requestId)).toEqual(['b', 'a']);
  });

  it('refuses a status that is none', async () => {
    const { line, asked } = commandLineOver([]);
    expect(await line.run('request', 'list', '--status', '6xx')).toMatchObject({ exitCode: 2 });
    expect(asked).toEqual([]);
  });
});

describe('gatewayctl request tail', () => {
  it('has a line for each request as it ends, and counts those left out', async () => {
    const { lines, notes } = await commandLineOver([at('d', 4), at('c', 3)]).line.run('request', 'tail');
    expect(lines.map((line) => line.split(/\s{2,}/)[1])).toEqual(['request', 'd', 'c']);
    expect(notes).toBe('2 more ended at the same time (not shown)');
    const json = await commandLineOver([at('d', 4), at('c', 3)]).line.run('request', 'tail', '-o', 'json');
    expect(json.lines.map((line) => JSON.parse(line).request.requestId)).toEqual(['d', 'c']);
  });
});
