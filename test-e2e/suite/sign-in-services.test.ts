import { myTokensBehaviour } from '../behaviours/my-tokens.ts';
import { signInBehaviour } from '../behaviours/sign-in.ts';
import { describeTopology } from '../topologies/describe-topology.ts';
import { startServicesTopology } from '../topologies/services.ts';
import { withSignIn } from '../topologies/with-sign-in.ts';

describeTopology(
  'the gateway as many processes with a provider of OpenID Connect',
  () => withSignIn((env) => startServicesTopology('sign-in-services', { env })),
  (gateway) => {
    signInBehaviour(gateway);
    myTokensBehaviour(gateway);
  },
);
