import type { PlantedFault } from '../planted-fault.ts';
import { faultsOfOperations } from './of-operations.ts';
import { faultsOfSpecification } from './of-specification.ts';

/** Every fault that the gateway double can have. Those of formats are planted in a gateway that only passes on. */
export const plantedFaults: readonly PlantedFault[] = [...faultsOfOperations, ...faultsOfSpecification];
