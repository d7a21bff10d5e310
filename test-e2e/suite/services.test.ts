import { alertsBehaviour } from '../behaviours/alerts.ts';
import { closedPortsBehaviour } from '../behaviours/closed-ports.ts';
import { describeGateway } from '../behaviours/gateway.ts';
import { killedProcessesBehaviour } from '../behaviours/killed-processes.ts';
import { limiterOverGrpcBehaviour } from '../behaviours/limiter-over-grpc.ts';
import { probesWithoutAdapterBehaviour } from '../behaviours/probed-accounts.ts';
import { reconcileServicesBehaviour } from '../behaviours/reconcile.ts';
import { startServicesTopology } from '../topologies/services.ts';

describeGateway(
  'the gateway as many processes on Redis, NATS and Postgres',
  () => startServicesTopology('services', { tls: true }),
  (gateway) => {
    alertsBehaviour(gateway);
    closedPortsBehaviour(gateway);
    limiterOverGrpcBehaviour(() => gateway().limiterAddress);
    reconcileServicesBehaviour(gateway);
    probesWithoutAdapterBehaviour(gateway);
    killedProcessesBehaviour(gateway);
  },
);
