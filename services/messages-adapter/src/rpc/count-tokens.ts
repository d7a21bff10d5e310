/** The provider's own count of a request's input; `model_not_found` for as long as `messagesFormat` has no counter. */
export { countTokens } from '@gateway/adapter-kit';
