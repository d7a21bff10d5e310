import { alertsBehaviour } from '../behaviours/alerts.ts';
import { describeGateway } from '../behaviours/gateway.ts';
import { startAllInOne } from '../topologies/all-in-one.ts';

describeGateway('the all-in-one gateway on its embedded storage', () => startAllInOne('embedded'), alertsBehaviour);
