import { describeClients } from '../behaviours/gateway.ts';
import { startAllInOne } from '../topologies/all-in-one.ts';

describeClients('clients of the all-in-one gateway', () => startAllInOne('clients'));
