import { serveTranslations } from '@gateway/adapter-kit/translation-worker';
import { translateChat } from './translate-chat.ts';

serveTranslations(translateChat);
