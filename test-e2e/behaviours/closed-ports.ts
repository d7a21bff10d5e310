import { once } from 'node:events';
import https from 'node:https';
import { connect as connectPlain } from 'node:net';
import { text } from 'node:stream/consumers';
import { connect } from 'node:tls';
import { serviceNames } from '@gateway/testkit';
import { roomMs } from '@gateway/testkit/room';
import { describe, expect, it } from 'vitest';
import type { ServicesTopology } from '../topologies/services.ts';

/** The ports between services, which speak TLS, as a caller without a certificate sees them. */
export function closedPortsBehaviour(gateway: () => ServicesTopology): void {
  describe('without a certificate', () => {
    const portsOf = (name: (typeof serviceNames)[number]) => {
      const { grpcUrl, credentialUrl, adminUrl } = gateway().services[name];
      // These serve no RPCs to others.
      return {
        adminUrl,
        grpc: ['edge-router', 'admin'].includes(name) ? [] : [grpcUrl, ...(credentialUrl ? [credentialUrl] : [])],
      };
    };

    it.each(serviceNames)('the gRPC ports of %s answer nothing', async (name) => {
      for (const url of portsOf(name).grpc) {
        const port = Number(new URL(url).port);
        expect(
          await answerTo(connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ALPNProtocols: ['h2'] })),
        ).toBe('');
        expect(await answerTo(connectPlain({ port, host: '127.0.0.1' }))).not.toMatch(/HTTP|grpc|gateway/i);
      }
    });

    it.each(serviceNames)('the admin port of %s shows its health, and nothing else', async (name) => {
      const { adminUrl } = portsOf(name);
      expect(await ask(`${adminUrl}/livez`)).toEqual({ status: 200, body: 'ok\n' });
      expect(await ask(`${adminUrl}/readyz`)).toEqual({ status: 200, body: 'ok\n' });
      const refused = { status: 403, body: 'A client certificate from the authority in TLS_CA_FILE is required.\n' };
      expect(await ask(`${adminUrl}/metrics`)).toEqual(refused);
      // Settings of services are only for the admin service; its own port has pages at that path.
      if (name !== 'admin') expect((await ask(`${adminUrl}/settings`)).status).toBe(403);
      const paths = ['/gateway.identity.v1.IdentityService/List', '/gateway.pool.v1.PoolBrokerService/ListAccounts'];
      for (const path of name === 'admin' ? paths : ['/', ...paths]) {
        expect(await ask(`${adminUrl}${path}`)).toEqual({ status: 404, body: 'Not found.\n' });
      }
    });

    it('the admin service has a sign-in page, and shows nothing else without a login', async () => {
      const { adminUrl } = portsOf('admin');
      expect(await ask(adminUrl)).toMatchObject({ status: 200, body: expect.stringContaining('<div id="console">') });
      for (const call of ['TokenService/ListTokens', 'RequestService/ListRequests', 'SystemService/ListReplicas']) {
        const { status, body } = await ask(`${adminUrl}/gateway.admin.v1.${call}`);
        expect(status, call).toBe(401);
        expect(JSON.parse(body)).toMatchObject({ code: 'unauthenticated' });
      }
    });

    it('the admin port takes no plain HTTP', async () => {
      const port = Number(new URL(portsOf('identity').adminUrl).port);
      expect(await answerTo(connectPlain({ port, host: '127.0.0.1' }))).not.toContain('HTTP');
    });
  });
}

/**
 * All bytes that a port sends after the beginning of HTTP/2, and after a request of HTTP/1.1, until
 * it closes.
 */
async function answerTo(socket: ReturnType<typeof connectPlain>): Promise<string> {
  let answer = '';
  socket.on('data', (bytes: Buffer) => (answer += bytes.toString('latin1'))).on('error', () => undefined);
  socket.write(
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n',
    'latin1',
  );
  if (!socket.closed) await once(socket, 'close', { signal: AbortSignal.timeout(roomMs(10_000)) });
  return answer;
}

async function ask(url: string) {
  const request = https.request(url, {
    rejectUnauthorized: false,
    agent: false,
    method: url.includes('.v1.') ? 'POST' : 'GET',
    headers: { 'content-type': 'application/json' },
  });
  const [response] = await once(request.end(url.includes('.v1.') ? '{}' : undefined), 'response');
  return { status: response.statusCode, body: await text(response) };
}
