/** Carries a request to a Messages provider: the dialects are the translators of `messagesFormat`. */
export { execute } from '@gateway/adapter-kit';
