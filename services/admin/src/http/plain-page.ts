import type { Response } from 'express';

/** A page without script and style, for messages that the console can't show. */
export function sendPage(response: Response, status: number, title: string, text: string): void {
  sendForm(response, status, title, `<p>${escaped(text)}</p><p><a href="/">Console</a></p>`);
}

/** The same with HTML, in which every text of others is escaped. */
export function sendForm(response: Response, status: number, title: string, html: string): void {
  const shown = escaped(title);
  response
    .status(status)
    .type('html')
    .send(
      `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${shown}</title><h1>${shown}</h1>${html}</html>\n`,
    );
}

export function escaped(text: string): string {
  return text.replace(/[<>&"]/g, (sign) => entities[sign] ?? '');
}

const entities: Readonly<Record<string, string>> = { '<': '&lt;', '>': '&gt;', '&': '&amp;', '"': '&quot;' };
