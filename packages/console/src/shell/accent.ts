interface Rgb {
  r: number;
  g: number;
  b: number;
}

function rgbOf(hex: string): Rgb {
  const value = Number.parseInt(hex.slice(1), 16);
  return { r: value >> 16, g: (value >> 8) & 255, b: value & 255 };
}

/** Returns the relative luminance, as WCAG defines it. */
function luminance({ r, g, b }: Rgb): number {
  const [lr = 0, lg = 0, lb = 0] = [r, g, b].map((channel) => {
    const share = channel / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * lr + 0.7152 * lg + 0.0722 * lb;
}

function contrast(one: Rgb, other: Rgb): number {
  const [low = 0, high = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

function mixed(from: Rgb, to: Rgb, share: number): Rgb {
  const mix = (a: number, b: number) => Math.round(a + (b - a) * share);
  return { r: mix(from.r, to.r), g: mix(from.g, to.g), b: mix(from.b, to.b) };
}

const white: Rgb = { r: 255, g: 255, b: 255 };
const black: Rgb = { r: 0, g: 0, b: 0 };
const surfaces = { light: rgbOf('#f7f6f3'), dark: rgbOf('#1a1b1f') };

/** Returns the accent color for a theme, made darker or lighter until text in that color is readable on a surface. */
export function accentFor(hex: string, theme: 'light' | 'dark'): string {
  const own = rgbOf(hex);
  let accent = own;
  for (let step = 0; step <= 20 && contrast(accent, surfaces[theme]) < 4.6; step += 1)
    accent = mixed(own, theme === 'light' ? black : white, step / 20);
  return `rgb(${accent.r} ${accent.g} ${accent.b})`;
}
