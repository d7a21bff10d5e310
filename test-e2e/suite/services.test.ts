import { internalErrorContract } from '../behaviours/contract.ts';
import { describeGateway } from '../behaviours/gateway.ts';
import { killedProcessesBehaviour } from '../behaviours/killed-processes.ts';
import { limiterOverGrpcBehaviour } from '../behaviours/limiter-over-grpc.ts';
import { reconcileServicesBehaviour } from '../behaviours/reconcile.ts';
import { startServicesTopology } from '../topologies/services.ts';

describeGateway(
  'the gateway as many processes on Redis, NATS and Postgres',
  () => startServicesTopology('services'),
  (gateway) => {
    limiterOverGrpcBehaviour(() => gateway().limiterAddress);
    internalErrorContract(gateway, ({ services }) => services.identity);
    reconcileServicesBehaviour(gateway);
    killedProcessesBehaviour(gateway);
  },
);
