import type { SystemName } from '../systems/system.ts';
import type { Results, Row } from './results.ts';

/** An SVG with one group of bars per case: processor time per request, and per event of a stream, by system. */
export function chartOf(results: Results): string {
  const groups = Map.groupBy(
    results.rows.filter(({ gatewayMicros }) => gatewayMicros !== undefined),
    (row) => row.case,
  );
  const parts: string[] = [];
  let top = 70;
  for (const [name, rows] of groups) {
    parts.push(groupOf(name, rows, top));
    top += rows.length * rowHeight + groupGap;
  }
  const title = 'Processor time per request, in streams per event';
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${top + 20}" viewBox="0 0 ${width} ${top + 20}" font-family="sans-serif" font-size="12">
<rect width="100%" height="100%" fill="#fff"/>
<text x="16" y="24" font-size="16" font-weight="bold">${title}</text>
<text x="16" y="44" fill="#555">${escapeText(`${results.machine}, Node ${results.node}, ${results.startedAt.slice(0, 10)}. ${results.remark ?? ''}`)}</text>
${parts.join('\n')}
</svg>
`;
}

const width = 900;
const labelWidth = 250;
const rowHeight = 18;
const groupGap = 14;
const widestBar = width - labelWidth - 190;

const colours: Readonly<Record<SystemName, string>> = {
  direct: '#999999',
  nginx: '#8aa4b8',
  'bare-node': '#7fae8b',
  portkey: '#c9a36a',
  'all-in-one': '#2f6f9f',
  services: '#1b3a57',
};

/** Every case has its own scale: nginx's bar is the measure of the others. */
function groupOf(name: string, rows: readonly Row[], top: number): string {
  const most = Math.max(...rows.map((row) => row.gatewayMicros?.median ?? 0), 1e-9);
  const bars = rows.map((row, index) => barOf(row, top + index * rowHeight, most));
  return [`<text x="16" y="${top + 13}" font-weight="bold">${escapeText(name)}</text>`, ...bars].join('\n');
}

function barOf(row: Row, top: number, most: number): string {
  const micros = row.gatewayMicros?.median ?? 0;
  const length = Math.max(1, (micros / most) * widestBar);
  const times = row.timesNginx === undefined ? '' : `, ${row.timesNginx.median.toFixed(2)} × nginx`;
  return `<text x="${labelWidth - 8}" y="${top + 13}" text-anchor="end">${row.system}</text><rect x="${labelWidth}" y="${top + 2}" width="${length.toFixed(1)}" height="${rowHeight - 5}" fill="${colours[row.system]}"/><text x="${(labelWidth + length + 6).toFixed(1)}" y="${top + 13}" fill="#333">${micros.toFixed(1)} µs${times}</text>`;
}

function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
