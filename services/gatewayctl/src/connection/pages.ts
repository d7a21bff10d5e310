/** The requested part of a long answer. */
export interface Page {
  readonly pageSize: number;
  readonly pageToken: string;
}

interface Part {
  readonly nextPageToken: string;
}

/** All pages of a long answer, one after the other. */
export async function* pagesOf<P extends Part>(ask: (pageToken: string) => Promise<P>): AsyncGenerator<P> {
  let pageToken = '';
  do {
    const page = await ask(pageToken);
    yield page;
    pageToken = page.nextPageToken;
  } while (pageToken !== '');
}

/** Records of the first pages, up to this number. */
export async function* firstOf<P extends Part, T>(
  most: number,
  ask: (page: Page) => Promise<P>,
  recordsOf: (page: P) => readonly T[],
  largestPage = 1_000,
): AsyncGenerator<readonly T[]> {
  let left = most;
  for await (const page of pagesOf((pageToken) => ask({ pageSize: Math.min(left, largestPage), pageToken }))) {
    yield recordsOf(page).slice(0, left);
    left -= recordsOf(page).length;
    if (left <= 0) return;
  }
}
