import { describe, expect, it } from 'vitest';
import { openEdges } from './edges.ts';

describe('the edges that are asked', () => {
  const urlsOf = async (env: Readonly<Record<string, string>>, urls: readonly string[]) =>
    (await openEdges(env, urls)).map(({ url }) => url);
  const env = { GATEWAY_EDGE_URLS: 'http://a:9090/, http://b:9090', GATEWAY_ADMIN_URL: 'http://c:9090' };

  it('are those named on the command line, else those of the environment, else the running gateway', async () => {
    expect(await urlsOf(env, ['http://d:9090'])).toEqual(['http://d:9090']);
    expect(await urlsOf(env, [])).toEqual(['http://a:9090', 'http://b:9090']);
    expect(await urlsOf({ GATEWAY_ADMIN_URL: 'http://c:9090' }, [])).toEqual(['http://c:9090']);
  });

  it('must be URLs, and there must be one', async () => {
    await expect(openEdges({}, ['localhost'])).rejects.toThrow(/is not a URL/);
    // Nothing listens at port 1.
    await expect(openEdges({ ADMIN_PORT: '1' }, [])).rejects.toThrow(/--edge/);
  });
});
