export { type ClientModels, clientModelsOf } from './client-models.ts';
export { type ClientSettings, clientSettingsFor, exportLine } from './client-settings.ts';
export { attemptResultText, noAccountText, skippedText, verdictText, type Wording } from './request-text.ts';
export { firstCurl, nextStepLines, providerLines } from './welcome.ts';
