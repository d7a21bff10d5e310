import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { Code, ConnectError } from '@connectrpc/connect';
import { Role } from '@gateway/proto/admin/v1/operator_service_pb.js';
import express from 'express';
import { expect, it, onTestFinished } from 'vitest';
import { AccessGate } from '../access/access-gate.ts';
import type { Caller } from '../access/caller.ts';
import { signedIn } from './signed-in.ts';

it('an export requires a role', async () => {
  const operator = (role: Role): Caller => ({ kind: 'operator', operatorId: 'id', name: 'someone', role, address: '' });
  const holders: Readonly<Record<string, Caller>> = {
    viewer: operator(Role.VIEWER),
    token: { kind: 'token', token: { label: 'team-x' }, address: '' } as Caller,
  };
  const signIn = {
    async byToken(token: string) {
      if (token === 'late') throw new ConnectError('Too many wrong tokens.', Code.ResourceExhausted);
      return holders[token];
    },
  };
  const noted: string[] = [];
  const refusals = { note: async ({ subject }: { subject: string }) => void noted.push(subject) };
  const gate = new AccessGate({ signIn, refusals } as unknown as ConstructorParameters<typeof AccessGate>[0]);
  const app = express().use('/export', signedIn(gate, Role.VIEWER), (_request, response) => void response.send('rows'));
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/export/usage`;
  const ask = async (headers: Record<string, string>) => (await fetch(url, { headers })).status;
  expect(await ask({ authorization: 'Bearer viewer' })).toBe(200);
  expect(await ask({ authorization: 'Bearer token' })).toBe(403);
  expect(await ask({ authorization: 'Bearer late' })).toBe(429);
  expect(await ask({})).toBe(401);
  expect(noted).toEqual(['GET /export/usage']);
});
