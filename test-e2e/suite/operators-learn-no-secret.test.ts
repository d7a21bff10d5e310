import { operatorsLearnNoSecret } from '../behaviours/operators-learn-no-secret.ts';
import { startAllInOne } from '../topologies/all-in-one.ts';
import { describeTopology } from '../topologies/describe-topology.ts';
import { secretSettings } from '../topologies/secret-settings.ts';

const settings = await secretSettings();

describeTopology(
  'the all-in-one gateway with secrets everywhere',
  () => startAllInOne('secrets', settings.env, settings.writeFile),
  (gateway) =>
    operatorsLearnNoSecret(
      gateway,
      () => settings,
      () => gateway().command.stdout() + gateway().command.stderr(),
    ),
);
