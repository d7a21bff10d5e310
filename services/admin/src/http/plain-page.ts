import type { Response } from 'express';

/** A page without script and style, for messages that the console can't show. */
export function sendPage(response: Response, status: number, title: string, text: string): void {
  const [shownTitle, shownText] = [title, text].map((each) => each.replace(/[<>&"]/g, (sign) => entities[sign] ?? ''));
  response
    .status(status)
    .type('html')
    .send(
      `<!doctype html><html lang="en"><meta charset="utf-8"><title>${shownTitle}</title><h1>${shownTitle}</h1><p>${shownText}</p><p><a href="/">Console</a></p></html>\n`,
    );
}

const entities: Readonly<Record<string, string>> = { '<': '&lt;', '>': '&gt;', '&': '&amp;', '"': '&quot;' };
