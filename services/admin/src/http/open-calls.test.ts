import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { request } from 'node:http';
import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { DescService } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { anAdminWorld } from '../__fixtures__/admin-world.ts';
import { permissionOf } from '../access/permissions.ts';

const MiB = 1024 * 1024;
const folder = fileURLToPath(new URL('.', import.meta.resolve('@gateway/proto/admin/v1/operator_service_pb.js')));
const modules: readonly object[] = await Promise.all(
  readdirSync(folder)
    .filter((file) => file.endsWith('_service_pb.js'))
    .map((file) => import(`${folder}${file}`)),
);
const services = modules.flatMap((module) => Object.values(module).filter(isService));
const methods = services.flatMap((service) => service.methods);
const openMethods = methods.filter((method) => permissionOf(method) === 'open');
const nameOf = ({ parent, name }: (typeof methods)[number]) => `${parent.name}.${name}`;

describe('a call without a session', () => {
  it.each(openMethods.map(nameOf))('of %s has 8 KiB at most', async (method) => {
    const world = await anAdminWorld();
    const filled = (length: number) => ({ token: ' '.repeat(length) });
    expect((await world.call(method, filled(9 * 1024))).code).toBe('resource_exhausted');
    expect((await world.call(method, filled(7 * 1024))).code).not.toBe('resource_exhausted');
  });

  it.each(methods.filter((method) => !openMethods.includes(method)))(
    'of $parent.name.$name is refused before its message is read',
    async (method) => {
      const world = await anAdminWorld();
      const type = method.methodKind === 'unary' ? 'application/json' : 'application/connect+json';
      const sent = request(`${world.url}/${method.parent.typeName}/${method.name}`, {
        method: 'POST',
        headers: { 'content-type': type, 'content-length': MiB },
      });
      sent.on('error', () => undefined).flushHeaders();
      const [{ statusCode }] = await once(sent, 'response');
      sent.destroy();
      // A stream reports an error in its body, and has the status of a stream.
      expect(statusCode).toBe(method.methodKind === 'unary' ? 401 : 200);
    },
  );

  it('holds little memory, however many there are at a time', async () => {
    const world = await anAdminWorld();
    const port = Number(new URL(world.url).port);
    const head = `POST /gateway.admin.v1.SessionService/SignIn HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${MiB}\r\n\r\n`;
    const body = Buffer.alloc(MiB - 1, ' ');
    const before = heldBytes();
    const callers = Array.from({ length: 300 }, () => connect(port, '127.0.0.1').on('error', () => undefined));
    for (const caller of callers) {
      caller.write(head);
      caller.write(body);
    }
    await Promise.all(callers.map((caller) => once(caller, 'data')));
    const held = heldBytes() - before;
    for (const caller of callers) caller.destroy();
    // 300 MiB are sent.
    expect(held).toBeLessThan(32 * MiB);
  });
});

/** The bytes of buffers that are still in use. */
function heldBytes(): number {
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  collect();
  // Buffers are freed and counted outside the program's thread. The second collection waits for the
  // first one.
  collect();
  return process.memoryUsage().arrayBuffers;
}

function isService(exported: unknown): exported is DescService {
  return typeof exported === 'object' && exported !== null && 'kind' in exported && exported.kind === 'service';
}
