import { type Credential, Secret } from '@gateway/config';
import { z } from 'zod';

/** A credential as the text that is sealed. */
export function toCredentialText(credential: Credential): string {
  return JSON.stringify(toPlain(credential));
}

/** The credential in an opened text; undefined for what is none. */
export function fromCredentialText(text: string): Credential | undefined {
  const { data } = plainSchema.safeParse(parseJson(text));
  if (data === undefined) return undefined;
  if (data.kind !== 'oauth') return { kind: data.kind, secret: new Secret(data.secret) };
  const { clientSecret, refreshToken, ...rest } = data;
  return {
    ...rest,
    clientSecret: clientSecret === undefined ? undefined : new Secret(clientSecret),
    refreshToken: new Secret(refreshToken),
  };
}

const plainSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.enum(['bearer', 'api_key']), secret: z.string() }),
  z.object({
    kind: z.literal('oauth'),
    tokenUrl: z.string(),
    clientId: z.string(),
    clientSecret: z.string().optional(),
    refreshToken: z.string(),
    scopes: z.array(z.string()),
  }),
]);

function toPlain(credential: Credential): z.infer<typeof plainSchema> {
  if (credential.kind !== 'oauth') return { kind: credential.kind, secret: credential.secret.reveal() };
  const { kind, tokenUrl, clientId, clientSecret, refreshToken, scopes } = credential;
  return {
    kind,
    tokenUrl,
    clientId,
    clientSecret: clientSecret?.reveal(),
    refreshToken: refreshToken.reveal(),
    scopes: [...scopes],
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
