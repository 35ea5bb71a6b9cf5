import { tabStorage } from './storage';

/** How a page that shows the console in a frame wants it: what the fragment of its link says, next to the token. */
export interface Embedding {
  /** `top` replaces the side bar with a line of links. */
  nav?: string;
  theme?: string;
  /** Six hexadecimal digits. */
  accent?: string;
  /** A font that the user's machine has. */
  font?: string;
  /** The language of the texts, if it is not English. */
  lang?: string;
}

const allowed: Record<keyof Embedding, RegExp> = {
  nav: /^top$/,
  theme: /^(light|dark)$/,
  accent: /^[0-9a-f]{6}$/i,
  font: /^[\w ,'"-]{1,100}$/,
  lang: /^de$/,
};
const storedName = 'posthorn.embedding';

/** Takes the parameters from the address, which keeps the rest, and remembers them as long as the tab or frame. */
function taken(): Embedding {
  const fragment = new URLSearchParams(location.hash.slice(1));
  const given = Object.entries(allowed).flatMap(([name, pattern]) => {
    const value = fragment.get(name);
    fragment.delete(name);
    return value && pattern.test(value) ? [[name, value] as const] : [];
  });
  if (given.length === 0) return JSON.parse(tabStorage.get(storedName) ?? '{}');
  history.replaceState(history.state, '', `${location.pathname}${location.search}#${fragment}`);
  tabStorage.set(storedName, JSON.stringify(Object.fromEntries(given)));
  return Object.fromEntries(given);
}

// Without a page, the texts are English.
export const embedding: Embedding = typeof location === 'undefined' ? {} : taken();

/**
 * Applies the font, and tells the page around the frame how high the content is, so that it can give the frame that
 * height. In such a frame, the middle can be out of sight: dialogs and messages open where the user pressed.
 */
export function followEmbedding(): void {
  const { style, classList } = document.documentElement;
  document.documentElement.lang = embedding.lang ?? 'en';
  if (embedding.font) style.setProperty('--sans', `${embedding.font}, system-ui, sans-serif`);
  if (embedding.nav !== 'top') return;
  classList.add('embedded');
  if (parent === window) return;
  const root = document.getElementById('root')!;
  new ResizeObserver(() =>
    // The height of a page is no secret, and the origin of the page around is not known.
    parent.postMessage(
      { type: 'posthorn:height', height: Math.ceil(root.getBoundingClientRect().height) },
      '*',
    ),
  ).observe(root);
  addEventListener('pointerdown', ({ clientY }) =>
    style.setProperty('--pressed', `${Math.round(clientY)}px`),
  );
}
