/** The provider's own count of a request's input: `messagesFormat` says how to ask for it. */
export { countTokens } from '@gateway/adapter-kit';
