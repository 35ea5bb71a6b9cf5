export const perSecondMin = 0.1;
export const perSecondMax = 500;

export const rateAccepts = `${perSecondMin} to ${perSecondMax} events per second, such as 20/s or 600/m`;

const secondsIn = { s: 1, m: 60 } as const;

/** Returns the events per second of `20/s` or `600/m`, or undefined. */
export function parseRate(text: string): number | undefined {
  const match = /^(\d{1,6}(?:\.\d{1,3})?)\/(s|m)$/.exec(text);
  if (!match) return undefined;
  const perSecond = Number(match[1]) / secondsIn[match[2] as keyof typeof secondsIn];
  return perSecond >= perSecondMin && perSecond <= perSecondMax ? perSecond : undefined;
}
