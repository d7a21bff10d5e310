import { type BodyRules, type EdgeRequest, receiveUpload } from '../body/read-body.ts';
import { HttpFault } from '../errors/render-error.ts';

/** Reads a small form: `a=1&b=2`. Throws a fault with status 400 for a body that is no form. */
export async function readForm(request: EdgeRequest, pace: BodyRules['pace']): Promise<URLSearchParams> {
  const type = request.headers['content-type'] ?? '';
  if (!/^application\/x-www-form-urlencoded *(;|$)/i.test(type)) {
    throw new HttpFault(400, 'The content-type must be application/x-www-form-urlencoded.');
  }
  request.inviteUpload();
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of receiveUpload(request, pace)) {
    size += piece.length;
    if (size > maxBytes) throw new HttpFault(400, `The form exceeds ${maxBytes} bytes.`);
    pieces.push(piece);
  }
  return new URLSearchParams(Buffer.concat(pieces).toString());
}

const maxBytes = 8_192;
