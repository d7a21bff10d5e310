import { open } from 'node:fs/promises';

/** How a line stands in a file: whole, torn where the file ends, or with nothing that could be a line's end for too long. */
export type LineDamage = 'torn' | 'overlong';

const newline = 0x0a;
/** Small, so that decoding what it holds never keeps requests waiting. */
const pieceBytes = 64 * 1024;
/** No line of a journal comes near it. */
const maxLineBytes = 1024 * 1024;

/** The lines of a file from a byte on, piece by piece: a file of any size takes the memory of one piece. */
export async function* readLines(
  path: string,
  fromByte: number,
  onDamage: (damage: LineDamage) => void,
): AsyncGenerator<readonly string[]> {
  await using file = await open(path, 'r');
  const piece = Buffer.allocUnsafe(pieceBytes);
  let rest: Buffer = Buffer.alloc(0);
  let skipping = false;
  for (let position = fromByte; ; ) {
    const { bytesRead } = await file.read(piece, 0, pieceBytes, position);
    if (bytesRead === 0) break;
    position += bytesRead;
    const read = piece.subarray(0, bytesRead);
    const start = skipping ? read.indexOf(newline) + 1 : 0;
    if (skipping && start === 0) continue;
    skipping = false;
    const end = read.lastIndexOf(newline);
    if (end >= start) {
      yield Buffer.concat([rest, read.subarray(start, end)])
        .toString('utf8')
        .split('\n');
      rest = Buffer.from(read.subarray(end + 1));
    } else {
      rest = Buffer.concat([rest, read.subarray(start)]);
    }
    if (rest.length > maxLineBytes) {
      onDamage('overlong');
      rest = Buffer.alloc(0);
      skipping = true;
    }
  }
  if (rest.length > 0) onDamage('torn');
}
