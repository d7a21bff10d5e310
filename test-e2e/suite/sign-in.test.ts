import { expect, it } from 'vitest';
import { myTokensBehaviour } from '../behaviours/my-tokens.ts';
import { signInBehaviour } from '../behaviours/sign-in.ts';
import { startAllInOne } from '../topologies/all-in-one.ts';
import { describeTopology } from '../topologies/describe-topology.ts';
import { withSignIn } from '../topologies/with-sign-in.ts';

describeTopology(
  'a gateway in one process with a provider of OpenID Connect',
  () => withSignIn((env) => startAllInOne('sign-in', env)),
  (gateway) => {
    signInBehaviour(gateway);
    myTokensBehaviour(gateway);
  },
);

it('Without a page for people, the gateway offers no sign-in', async () => {
  await using gateway = await startAllInOne('no-sign-in');
  for (const path of ['/.well-known/oauth-authorization-server', '/managed/settings', '/oauth/token']) {
    expect((await fetch(`${gateway.baseUrl}${path}`)).status).toBe(404);
  }
});
