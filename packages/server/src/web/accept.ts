/**
 * Returns whether an `Accept` header prefers HTML to JSON. If both have the same quality, HTML wins only if the header
 * names it explicitly, as the header of a browser does.
 */
export function prefersHtml(accept: string): boolean {
  const ranges = accept.split(',').map(rangeOf);
  const [html, json] = [qualityOf(ranges, 'text', 'html'), qualityOf(ranges, 'application', 'json')];
  const isNamed = ranges.some(({ range }) => range === 'text/html');
  return html > json || (html > 0 && html === json && isNamed);
}

interface Range {
  range: string;
  quality: number;
}

function rangeOf(text: string): Range {
  const [range = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase());
  const quality = Number(parameters.find((one) => one.startsWith('q='))?.slice(2) ?? 1);
  return { range, quality: quality >= 0 && quality <= 1 ? quality : 1 };
}

/** Returns the quality of a media type: that of the most specific range. */
function qualityOf(ranges: readonly Range[], type: string, subtype: string): number {
  for (const wanted of [`${type}/${subtype}`, `${type}/*`, '*/*']) {
    const found = ranges.find(({ range }) => range === wanted);
    if (found) return found.quality;
  }
  return 0;
}
