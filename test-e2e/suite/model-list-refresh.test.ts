import { modelListRefreshBehaviour } from '../behaviours/model-list-refresh.ts';
import { startAllInOne } from '../topologies/all-in-one.ts';
import { startServicesTopology } from '../topologies/services.ts';

modelListRefreshBehaviour('one process', () => startAllInOne('model-lists'));
modelListRefreshBehaviour('two workers', () => startAllInOne('model-lists-of-workers', { GATEWAY_WORKERS: '2' }));
modelListRefreshBehaviour('services', () =>
  startServicesTopology('model-lists-of-services', { replicas: { admin: 0 } }),
);
