import { GrpcServer } from '../../grpc/server.ts';
import { serviceRoute } from '../../service-types.ts';
import { PlayService } from './play-service.ts';

/**
 * A replica in a process of its own, which can be paused and killed. It sends its port, and never
 * answers a call of `hold`.
 */
const route = serviceRoute(PlayService, {
  unary: async ({ value }, { signal }) => {
    if (String(value) === 'hold') await new Promise((resolve) => signal.addEventListener('abort', resolve));
    return { value: Buffer.from('process') };
  },
  serverStream: async function* () {},
  clientStream: async () => ({}),
  bidiStream: async function* () {},
});
const server = await GrpcServer.listen({ host: '127.0.0.1', port: Number(process.argv[2]), routes: [route] });
process.send?.(server.port);
