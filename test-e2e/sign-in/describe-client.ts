import { startAllInOne } from '../topologies/all-in-one.ts';
import { describeTopology } from '../topologies/describe-topology.ts';
import { type ServicesTopology, startServicesTopology } from '../topologies/services.ts';
import { type SignInTopology, withSignIn } from '../topologies/with-sign-in.ts';

/**
 * Tests of a client against the gateway of `npm start` and against services, each with a real
 * provider of OpenID Connect.
 * @param onServices further tests, which stop single services
 */
export function describeClient(
  client: string,
  behaviours: (gateway: () => SignInTopology) => void,
  onServices: (gateway: () => SignInTopology & ServicesTopology) => void = () => {},
): void {
  describeTopology(
    `${client}, with the gateway in one process`,
    () => withSignIn((env) => startAllInOne('client', env)),
    behaviours,
  );
  describeTopology(
    `${client}, with the gateway as services`,
    () => withSignIn((env) => startServicesTopology('client-services', { env })),
    (gateway) => {
      behaviours(gateway);
      onServices(gateway);
    },
  );
}
