import { GrpcServer } from '../src/grpc-server.ts';
import { adapterRoute, limiterRoute } from './routes.ts';

const server = await GrpcServer.listen({ host: '127.0.0.1', port: 0, routes: [limiterRoute, adapterRoute] });
process.send?.(server.port);
process.on('message', (question) => {
  const { user, system } = process.cpuUsage();
  if (question === 'memory') globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  process.send?.(question === 'cpu' ? user + system : heapUsed + external);
});
process.on('disconnect', () => process.exit());
