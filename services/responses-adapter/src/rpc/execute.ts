/** Carries a request to a Responses provider: the dialects are the translators of `responsesFormat`. */
export { execute } from '@gateway/adapter-kit';
