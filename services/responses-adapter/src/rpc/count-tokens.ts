/** Answers `model_not_found`: no endpoint of the gateway counts tokens in this format. */
export { countTokens } from '@gateway/adapter-kit';
