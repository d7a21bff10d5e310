import { tmpdir } from 'node:os';
import { expect, it } from 'vitest';
import { fullDiskText, isDiskFull, withDiskRoom } from './disk-room.ts';

const withCode = (fields: object) => Object.assign(new Error('x'), fields);

it.each([
  [{ code: 'ENOSPC' }, true],
  [{ code: 'EDQUOT' }, true],
  [{ errcode: 13 }, true],
  // An I/O error is one of a full disk only where there is no room: this folder has some.
  [{ errcode: 10 }, false],
  [{ errcode: 10 | (19 << 8) }, false],
  [{ code: 'EACCES' }, false],
  [{ errcode: 8 }, false],
])('takes the failure %j as that of a full disk: %s', (fields, isFull) => {
  expect(isDiskFull(withCode(fields), tmpdir())).toBe(isFull);
});

it('names the folder, the room and the remedy, and keeps the cause', () => {
  const cause = withCode({ code: 'ENOSPC' });
  const told = withDiskRoom(cause, '/tmp');
  expect(told).toMatchObject({
    cause,
    message: expect.stringMatching(/^the disk of \/tmp is full \(\d+ bytes free\)\. .*: free space there/),
  });
  const other = withCode({ code: 'EACCES' });
  expect(withDiskRoom(other, '/tmp')).toBe(other);
  expect(fullDiskText(tmpdir())).toBeUndefined();
  expect(fullDiskText('/no/such/folder')).toBeUndefined();
});
