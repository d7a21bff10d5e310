export type { ActiveFault } from './faults/fault-book.ts';
export { type PresetName, presetNames } from './faults/fault-presets.ts';
export type { Fault, FaultKind, FaultScript, PresetFault } from './faults/fault-script.ts';
export { defaultModels, type ModelsChange, type ModelsState } from './models.ts';
export type { TokenEndpointOptions, TokenFamily } from './oauth/token-families.ts';
export type { FormatName } from './provider-format.ts';
export type {
  BilledReport,
  BilledTokens,
  BilledTotal,
  RecordedRequest,
  RequestFilter,
  RequestOutcome,
} from './record.ts';
export type { ResponsesBackend } from './responses/check-request.ts';
export { type Simulator, type SimulatorOptions, startSimulator } from './simulator.ts';
