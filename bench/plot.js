// Bar charts as SVG, without a dependency. A chart brings its own background, so that it can be read on light and dark
// pages, and follows the reader's preference.

const width = 760;
const labelWidth = 200;
const valueWidth = 175;
const rowHeight = 24;
const barHeight = 15;
const headHeight = 58;
const groupHeight = 26;
const padding = 20;

const style = `
    .ground { fill: #ffffff; } .line { stroke: #d0d7de; } text { fill: #1f2328; }
    .soft { fill: #59636e; } .a { fill: #2563c9; } .b { fill: #d9722b; } .quiet { fill: #8d96a0; }
    @media (prefers-color-scheme: dark) {
      .ground { fill: #161b22; } .line { stroke: #3d444d; } text { fill: #f0f6fc; }
      .soft { fill: #9ba5b0; } .a { fill: #6ea8fe; } .b { fill: #f0a06a; } .quiet { fill: #6e7781; }
    }`;

/**
 * Draws horizontal bars in groups. `groups` is a list of { name, bars }, and a bar is { name, values, label }: several
 * values are stacked, in the order of `series`. With one value, the bar of `own` stands out. `isLog` is for values that
 * differ by orders of magnitude.
 */
export function barChart({ title, note, groups, series = [], own, isLog = false }) {
  const all = groups.flatMap(({ bars }) => bars.map(({ values }) => sum(values)));
  const [lowest, highest] = [Math.min(...all.filter((value) => value > 0)), Math.max(...all)];
  const room = width - labelWidth - valueWidth - 2 * padding;
  const floor = isLog ? 10 ** Math.floor(Math.log10(lowest) - 0.01) : 0;
  const length = (value) => {
    if (!isLog) return (value / highest) * room;
    return value <= floor ? 0 : (Math.log(value / floor) / Math.log(highest / floor)) * room;
  };
  const parts = [];
  let y = headHeight;
  for (const { name, bars } of groups) {
    if (name) {
      parts.push(text(padding, y + 14, name, 'font-weight="600"'));
      y += groupHeight;
    }
    for (const bar of bars) {
      const middle = y + rowHeight / 2;
      parts.push(text(padding + labelWidth - 10, middle + 4, bar.name, 'text-anchor="end"'));
      let x = padding + labelWidth;
      for (const [index, value] of bar.values.entries()) {
        const shade = bar.values.length > 1 ? 'ab'[index] : shadeOf(bar, own);
        parts.push(
          `<rect class="${shade}" x="${round(x)}" y="${middle - barHeight / 2}" width="${round(Math.max(1, length(value)))}" height="${barHeight}" rx="2"/>`,
        );
        x += length(value);
      }
      parts.push(text(round(x) + 8, middle + 4, bar.label));
      y += rowHeight;
    }
    y += 10;
  }
  const axis = padding + labelWidth;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${y + padding / 2}" viewBox="0 0 ${width} ${y + padding / 2}" role="img" aria-label="${escaped(title)}" font-family="system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif" font-size="13">`,
    `<style>${style}\n  </style>`,
    '<rect class="ground" width="100%" height="100%" rx="8"/>',
    text(padding, 26, title, 'font-size="15" font-weight="600"'),
    text(padding, 45, isLog ? `${note}; logarithmic scale` : note, 'class="soft"'),
    ...legend(series),
    `<line class="line" x1="${axis}" y1="${headHeight}" x2="${axis}" y2="${y}"/>`,
    ...parts,
    '</svg>\n',
  ].join('\n  ');
}

const sum = (values) => values.reduce((total, value) => total + value, 0);
const round = (value) => Math.round(value * 10) / 10;
const shadeOf = ({ name }, own) => (own === undefined || name === own ? 'a' : 'quiet');

function legend(series) {
  let x = width - padding;
  return [...series.entries()].reverse().flatMap(([index, name]) => {
    x -= name.length * 7 + 26;
    return [
      `<rect class="${'ab'[index]}" x="${x}" y="35" width="11" height="11" rx="2"/>`,
      text(x + 16, 45, name, 'class="soft"'),
    ];
  });
}

const text = (x, y, content, attributes = '') =>
  `<text x="${x}" y="${y}" ${attributes}>${escaped(content)}</text>`;
const escaped = (content) =>
  String(content).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
