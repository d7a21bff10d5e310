import { z } from 'zod';
import { Secret } from './secret.ts';
import { tokenUrl } from './token-url.ts';

/** What receivers can be warned about. */
export const alertKinds = ['tokens_per_day', 'group_tokens_per_day', 'budget', 'account', 'pool', 'people'] as const;

/**
 * A key for signatures.
 * @see https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */
const signingSecret = z.string().refine(isSigningSecret, 'must be whsec_ and the base64 text of 24 to 64 random bytes');

const receiver = z
  .strictObject({
    name: z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,49}$/, 'must be 1 to 50 letters, digits, "-", "_" and "."')
      .describe('Unique. Operators see it instead of the URL.'),
    format: z
      .enum(['slack', 'json'])
      .describe('slack: an incoming webhook of Slack, or one that is compatible. json: an object that can be signed.'),
    url: tokenUrl.describe('A secret, so usually a reference. Redirects are not followed.'),
    secret: signingSecret
      .optional()
      .describe('Format json: a reference to the key of the signatures, whsec_… Absent: messages are not signed.'),
    kinds: z.array(z.enum(alertKinds)).min(1, 'must not be empty').optional().describe('Absent: all kinds.'),
  })
  .refine(({ format, secret }) => format === 'json' || secret === undefined, {
    path: ['secret'],
    message: 'only receivers of format json support signatures',
  })
  .transform(({ name, format, url, secret, kinds }) => ({
    ...{ name, format, url: new Secret(url), kinds: kinds ?? alertKinds },
    secret: secret === undefined ? undefined : new Secret(secret),
  }));

/** The receivers of warnings: `alerts` in gateway.yaml. */
export const alertsSchema = z
  .array(receiver)
  .max(20)
  .superRefine((receivers, context) => {
    for (const [index, { name }] of receivers.entries()) {
      const first = receivers.findIndex((each) => each.name === name);
      if (first < index) {
        context.addIssue({ code: 'custom', path: [index, 'name'], message: `alerts[${first}] has the same name` });
      }
    }
  });

function isSigningSecret(text: string): boolean {
  const [, base64] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(text) ?? [];
  const bytes = Buffer.from(base64 ?? '', 'base64');
  return bytes.toString('base64') === base64 && bytes.length >= 24 && bytes.length <= 64;
}
