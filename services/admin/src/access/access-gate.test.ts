import { Code, ConnectError, createContextValues, type StreamResponse, type UnaryRequest } from '@connectrpc/connect';
import { Role } from '@gateway/proto/admin/v1/operator_service_pb.js';
import { SystemService } from '@gateway/proto/admin/v1/system_service_pb.js';
import { ManualTime } from '@gateway/time/simulated';
import { expect, it } from 'vitest';
import { AccessGate } from './access-gate.ts';
import type { Caller } from './caller.ts';

it('ends a stream soon after its caller lost the permission', async () => {
  using time = new ManualTime(0);
  let isSignedIn = true;
  const caller: Caller = { kind: 'operator', operatorId: 'id', name: 'vera', role: Role.VIEWER, address: '' };
  const byToken = async () => {
    if (!isSignedIn) throw new ConnectError('no longer valid', Code.Unauthenticated);
    return caller;
  };
  const parts = { signIn: { byToken } };
  const gate = new AccessGate(parts as unknown as ConstructorParameters<typeof AccessGate>[0]);
  async function* everySecond() {
    for (let second = 0; ; second++) {
      yield second;
      time.advanceMs(1_000);
    }
  }
  const next = async () => ({ stream: true, message: everySecond() }) as unknown as StreamResponse;
  const request = {
    method: SystemService.method.watchOverview,
    header: new Headers({ authorization: 'Bearer x' }),
    contextValues: createContextValues(),
    signal: new AbortController().signal,
  };
  const { message } = await gate.endStreams(next)(request as unknown as UnaryRequest);
  const read: unknown[] = [];
  const reading = (async () => {
    for await (const each of message as AsyncIterable<unknown>) {
      read.push(each);
      if (each === 11) isSignedIn = false;
    }
  })();
  await expect(reading).rejects.toMatchObject({ code: Code.Unauthenticated });
  expect(read.at(-1)).toBe(14);
});
