export type { FaultScript } from './faults/fault-script.ts';
export { defaultModels } from './models.ts';
export type { RecordedRequest } from './record.ts';
export type { FormatName } from './simulated-format.ts';
export { type Simulator, type SimulatorOptions, startSimulator } from './simulator.ts';
