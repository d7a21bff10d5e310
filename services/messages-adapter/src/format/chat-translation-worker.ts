import { translationWorker } from '@gateway/adapter-kit/translation-worker';
import { chatTranslator } from './chat-translator.ts';

export const translate = translationWorker(chatTranslator.translate);
