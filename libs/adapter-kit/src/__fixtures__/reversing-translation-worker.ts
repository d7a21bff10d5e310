import { serveTranslations } from '../translation/serve-translations.ts';

serveTranslations((body) => ({
  body: Buffer.from([...body].reverse()).toString(),
  answer: { stream: true, includeUsage: false, wantsJson: true },
}));
