import { operatorsLearnNoSecret } from '../behaviours/operators-learn-no-secret.ts';
import { describeTopology } from '../topologies/describe-topology.ts';
import { secretSettings } from '../topologies/secret-settings.ts';
import { startServicesTopology } from '../topologies/services.ts';

const settings = await secretSettings();
// The program that starts services chooses their addresses.
const { ADMIN_PUBLIC_URL: _own, OIDC_ISSUER: _needs, ...env } = settings.env;

describeTopology(
  'the gateway as many processes with secrets everywhere',
  () => startServicesTopology('secrets-services', { env, writeFile: settings.writeFile }),
  (gateway) =>
    operatorsLearnNoSecret(
      gateway,
      () => settings,
      () => gateway().logs(),
    ),
);
