import { ConfigurationService } from '@gateway/proto/admin/v1/configuration_service_pb.js';
import { TokenService } from '@gateway/proto/admin/v1/token_service_pb.js';
import { serviceNames } from '@gateway/testkit';
import { describe, expect, it } from 'vitest';
import { adminClient } from '../client/operator.ts';
import { head, RawConnection } from '../client/raw-http.ts';
import type { Topology } from '../topologies/topology.ts';

const issue = 'POST /gateway.admin.v1.TokenService/IssueToken';
const json = 'application/json';

/**
 * The callers of the operators' port: signed-in callers, and no page of another site through a
 * browser, signed in or not.
 */
export function adminPortBehaviour(gateway: () => Topology): void {
  describe('the admin port', () => {
    const send = async (baseUrl: string, line: string, headers: Readonly<Record<string, string>>, body = '') => {
      using connection = new RawConnection({ baseUrl });
      return await connection.send(head(line, { ...headers, 'content-length': String(body.length) }) + body).answer();
    };
    const label = () => `admin-port-${Math.random()}`;
    const signedIn = () => ({ authorization: `Bearer ${gateway().adminToken}` });
    const issueAs = async (headers: Readonly<Record<string, string>>) => {
      const named = label();
      const body = JSON.stringify({ kind: 'TOKEN_KIND_PERSONAL', label: named });
      const answer = await send(gateway().adminUrl, issue, { 'content-type': json, ...headers }, body);
      const { tokens } = await adminClient(TokenService, gateway()).listTokens({ search: named });
      return { ...answer, isIssued: tokens.some(({ token }) => token?.label === named) };
    };

    it.each([
      ['a page whose name was resolved to this machine', { host: 'evil.example:9090' }],
      ['such a page that says its origin', { host: 'evil.example', origin: 'http://evil.example' }],
      ['a page of another site', { host: 'localhost:9090', origin: 'https://evil.example' }],
      ['a page of another port', { host: 'localhost:9090', origin: 'http://localhost:3000' }],
      ['a page without an origin', { host: 'localhost:9090', origin: 'null' }],
      ['a page whose origin is hidden', { host: '127.0.0.1:9090', 'sec-fetch-site': 'cross-site' }],
    ])('issues no token to %s, and says why', async (_, headers) => {
      const { status, text, isIssued } = await issueAs({ ...headers, ...signedIn() });
      expect(status).toBe(403);
      expect(text).toMatch(/^[A-Z].*\.\n$/);
      expect(isIssued).toBe(false);
    });

    it.each(['text/plain', 'application/x-www-form-urlencoded'])(
      'issues no token for a request that a browser sends without a preflight, as %s',
      async (type) => {
        expect(await issueAs({ host: 'localhost', 'content-type': type, ...signedIn() })).toMatchObject({
          status: 415,
          isIssued: false,
        });
      },
    );

    it.each<Record<string, string>>([{}, { authorization: `Bearer gw_a_${'x'.repeat(36)}` }])(
      'issues no token to those who have not signed in: %j',
      async (headers) => {
        expect(await issueAs({ host: 'localhost', ...headers })).toMatchObject({ status: 401, isIssued: false });
      },
    );

    it.each(['localhost:9090', '127.0.0.1', '10.1.2.3:9090', '[::1]:9090'])(
      'issues a token to a client that calls it %s',
      async (host) => {
        expect(await issueAs({ host, ...signedIn() })).toMatchObject({ status: 200, isIssued: true });
      },
    );

    it('refuses a foreign name, names the setting, and counts it', async () => {
      const port = gateway().adminUrl;
      const answer = await send(port, 'POST /any', { host: 'evil.example', 'content-type': json }, '{}');
      expect(answer.status).toBe(403);
      expect(answer.text).toContain('add evil.example to the setting ADMIN_ALLOWED_HOSTS');
      const metrics = await send(port, 'GET /metrics', { host: 'localhost' });
      expect(metrics.text).toMatch(/gateway_admin_refusals_total\{reason="host"\} [1-9]/);
    });

    it('of every service answers probes and Prometheus under any name', async () => {
      for (const port of new Set([gateway().adminUrl, gateway().edgeAdminUrl])) {
        for (const path of ['/livez', '/readyz', '/metrics']) {
          expect((await send(port, `GET ${path}`, { host: 'probe.example:1' })).status).toBe(200);
        }
      }
    });

    it('shows the settings of every process of the gateway, with their origin', async () => {
      const { settings, silent } = await adminClient(ConfigurationService, gateway()).getConfiguration({});
      expect(silent).toEqual([]);
      const isOneProcess = gateway().edgeAdminUrl === gateway().adminUrl;
      expect(new Set(settings.map(({ service }) => service))).toEqual(
        new Set(isOneProcess ? ['gateway'] : serviceNames),
      );
      const edge = settings.filter(({ service }) => isOneProcess || service === 'edge-router');
      expect(edge).toContainEqual(expect.objectContaining({ name: 'PORT', origin: 'environment' }));
      expect(settings.map(({ value }) => value)).not.toContain(gateway().adminToken);
    });

    it('has no RPCs of the services behind it', async () => {
      for (const port of new Set([gateway().adminUrl, gateway().edgeAdminUrl])) {
        const paths = ['gateway.identity.v1.IdentityService/List', 'gateway.pool.v1.CredentialService/GetCredential'];
        for (const path of paths) {
          const headers = { host: 'localhost', 'content-type': json, ...signedIn() };
          expect((await send(port, `POST /${path}`, headers, '{}')).status).toBe(404);
        }
      }
    });
  });
}
