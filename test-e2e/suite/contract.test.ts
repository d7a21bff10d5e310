import { describeContract } from '../behaviours/gateway.ts';
import { startAllInOne } from '../topologies/all-in-one.ts';

describeContract('the contract of the all-in-one gateway', () => startAllInOne('embedded-contract'), {
  compressed: true,
});
