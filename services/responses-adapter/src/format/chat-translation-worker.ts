import { serveTranslations } from '@gateway/adapter-kit/translation-worker';
import { translateChat } from './chat-translator.ts';

serveTranslations(translateChat);
