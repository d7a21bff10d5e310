import { chatFaults } from './chat-faults.ts';
import type { Fault } from './faulty-gateway.ts';
import { countTokensFaults, messagesFaults } from './messages-faults.ts';
import { modelsFaults } from './models-faults.ts';
import { responsesFaults } from './responses-faults.ts';

/** Faults that gateways have had, each with the check that must find it. */
export const faults: readonly Fault[] = [
  ...chatFaults,
  ...messagesFaults,
  ...countTokensFaults,
  ...responsesFaults,
  ...modelsFaults,
];
