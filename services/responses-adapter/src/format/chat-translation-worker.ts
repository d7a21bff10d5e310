import { translationWorker } from '@gateway/adapter-kit/translation-worker';
import { translateChat } from './chat-translator.ts';

export const translate = translationWorker(translateChat);
