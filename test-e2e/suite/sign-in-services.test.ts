import { TokenKind } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { expect, it } from 'vitest';
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

    it('Managed settings never fail while identity is away: clients would not start', async () => {
      const { services, baseUrl, operator } = gateway();
      const [known, unknown] = await Promise.all(
        ['known', 'unknown'].map((label) => operator.issue({ kind: TokenKind.PERSONAL, label })),
      );
      const statusFor = async (token = '') => {
        const headers = { authorization: `Bearer ${token}` };
        return (await fetch(`${baseUrl}/managed/settings`, { headers })).status;
      };
      expect(await statusFor(known?.tokenText)).toBe(404);
      await services.identity.kill();
      try {
        for (const token of [known, unknown]) expect(await statusFor(token?.tokenText)).toBe(404);
      } finally {
        await services.identity.restart();
      }
      await expect.poll(() => statusFor(unknown?.tokenText)).toBe(404);
    });
  },
);
