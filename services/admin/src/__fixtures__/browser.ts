import { once } from 'node:events';
import { type IncomingHttpHeaders, request } from 'node:http';
import { text } from 'node:stream/consumers';

export interface Page {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly url: URL;
}

/**
 * Follows links and keeps cookies as a browser does. Cookies belong to a host, whatever the port.
 * Those with SameSite=Strict are sent only to their own site.
 */
export class Browser {
  readonly #cookies = new Map<string, Map<string, { readonly value: string; readonly isStrict: boolean }>>();

  /**
   * The page at the end of all redirects. If `until` matches an address, stops there without
   * opening it.
   */
  async open(
    url: string,
    {
      form,
      until = () => false,
    }: { form?: Readonly<Record<string, string>>; until?: ((url: URL) => boolean) | undefined } = {},
  ): Promise<Page> {
    let next = new URL(url);
    let body = form && new URLSearchParams({ ...form }).toString();
    let isSameSite = true;
    for (let hops = 0; hops < 20; hops++) {
      const page = await this.#send(next, body, isSameSite);
      const { location } = page.headers;
      if (location === undefined) return page;
      const to = new URL(location, next);
      // A redirect chain that another site started stays cross-site.
      isSameSite &&= to.hostname === next.hostname;
      [next, body] = [to, undefined];
      if (until(next)) return { ...page, url: next };
    }
    throw new Error('too many redirects');
  }

  async #send(url: URL, body: string | undefined, isSameSite: boolean): Promise<Page> {
    // fetch does not pass for a browser: it writes these headers itself.
    const sent = request(url, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        cookie: this.#cookiesFor(url, isSameSite),
        'sec-fetch-mode': 'navigate',
        'sec-fetch-dest': 'document',
        'sec-fetch-site': isSameSite ? 'same-origin' : 'cross-site',
        ...(body !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }),
      },
    });
    sent.end(body);
    const [response] = await once(sent, 'response');
    this.#keep(url, response.headers['set-cookie'] ?? []);
    return { status: response.statusCode, headers: response.headers, text: await text(response), url };
  }

  cookie(url: string, name: string): string | undefined {
    return this.#of(new URL(url)).get(name)?.value;
  }

  /** Headers of a request from a page of the same site. */
  header(url: string): string {
    return this.#cookiesFor(new URL(url), true);
  }

  #of({ hostname }: URL) {
    const known = this.#cookies.get(hostname) ?? new Map();
    this.#cookies.set(hostname, known);
    return known;
  }

  #cookiesFor(url: URL, isSameSite: boolean): string {
    const sent = [...this.#of(url)].filter(([, { isStrict }]) => isSameSite || !isStrict);
    return sent.map(([name, { value }]) => `${name}=${value}`).join('; ');
  }

  #keep(url: URL, texts: readonly string[]): void {
    for (const text of texts) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(text) ?? [];
      if (/max-age=0|expires=thu, 01 jan 1970/i.test(text)) this.#of(url).delete(name);
      else this.#of(url).set(name, { value, isStrict: /samesite=strict/i.test(text) });
    }
  }
}
