import { t } from '../text/language';
import { embedding } from './embedding';
import { lastingStorage } from './storage';
import { createStore, useStore } from './store';

export type Zone = 'local' | 'utc';
export type Theme = 'system' | 'light' | 'dark';

export const themes = [
  { key: 'system', label: t`System` },
  { key: 'light', label: t`Light` },
  { key: 'dark', label: t`Dark` },
] as const satisfies readonly { key: Theme; label: string }[];

const zone = createStore<Zone>(lastingStorage.get('posthorn.zone') === 'utc' ? 'utc' : 'local');
export const theme = createStore<Theme>(themeOf(embedding.theme ?? lastingStorage.get('posthorn.theme')));

function themeOf(text: string | null): Theme {
  return text === 'light' || text === 'dark' ? text : 'system';
}

const darkScheme = matchMedia('(prefers-color-scheme: dark)');

function showTheme(): void {
  const chosen = theme.get();
  const system = darkScheme.matches ? 'dark' : 'light';
  document.documentElement.dataset.theme = chosen === 'system' ? system : chosen;
}

/** Applies the preferences, now and whenever they change. */
export function followPreferences(): void {
  showTheme();
  darkScheme.addEventListener('change', showTheme);
  theme.subscribe(() => {
    lastingStorage.set('posthorn.theme', theme.get());
    showTheme();
  });
  zone.subscribe(() => lastingStorage.set('posthorn.zone', zone.get()));
}

/** Returns the zone in which times are shown. */
export function useZone(): Zone {
  return useStore(zone);
}

export function switchZone(): void {
  zone.set(zone.get() === 'utc' ? 'local' : 'utc');
}
