import { describe, expect, it } from 'vitest';
import { convertImage } from './convert-images.ts';

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const jpeg = '/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAA==';
const gif = 'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7';
const webp = 'UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA';

describe('convertImage', () => {
  it.each(['https://example.com/cat.png?size=1', 'HTTP://example.com/cat'])('passes %s on', (url) => {
    expect(convertImage(url, 'image_url.url')).toEqual({ type: 'image', source: { type: 'url', url } });
  });

  it.each([
    ['image/png', png, 'image/png'],
    ['image/png', jpeg, 'image/jpeg'],
    ['image/jpg', jpeg, 'image/jpeg'],
    ['IMAGE/JPEG', gif, 'image/gif'],
    ['image/bmp', webp, 'image/webp'],
    ['application/octet-stream', png, 'image/png'],
    ['image/jpg', 'AAAAAAAA', 'image/jpeg'],
  ])('declared %s: trusts the first bytes more', (declared, data, actual) => {
    expect(convertImage(`data:${declared};base64,${data}`, 'image_url.url').source).toEqual({
      type: 'base64',
      media_type: actual,
      data,
    });
  });

  it('reads a data URL with other parameters, other case and line breaks', () => {
    const url = `DATA:image/png;charset=utf-8;BASE64,${png.slice(0, 40)}\r\n${png.slice(40)}`;
    expect(convertImage(url, 'image_url.url').source).toEqual({ type: 'base64', media_type: 'image/png', data: png });
  });

  it.each([
    ['unsupported_content', 'data:image/svg+xml;base64,PHN2Zz48L3N2Zz4='],
    ['unsupported_content', 'data:application/pdf;base64,JVBERi0xLjQ='],
    ['unsupported_content', 'data:image/png,plain'],
    ['unsupported_content', 'data:image/png;base64'],
    ['unsupported_content', 'file:///etc/passwd'],
    ['unsupported_content', 'https://'],
    ['unsupported_content', 'cat.png'],
    ['invalid_request', 'data:image/png;base64,'],
    ['invalid_request', 'data:image/png;base64,not base64!'],
  ])('answers %s to %s', (code, url) => {
    expect(() => convertImage(url, 'image_url.url')).toThrow(expect.objectContaining({ code }));
  });
});
