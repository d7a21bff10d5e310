export type { FaultScript } from './faults/fault-script.ts';
export { defaultModels } from './models.ts';
export type { FormatName } from './provider-request.ts';
export type { RecordedRequest } from './record.ts';
export { type Simulator, type SimulatorOptions, startSimulator } from './simulator.ts';
