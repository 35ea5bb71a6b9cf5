import type { HistoryLocation } from '@tanstack/react-router';
import { EntryMemory } from '../address/entry-memory';

/** The path of the row from which the keys for the next and the previous row continue. */
const places = new EntryMemory<string>();

const rowsInList = () => [...document.querySelectorAll<HTMLAnchorElement>('a.row-link')];

export function rememberRow(entry: HistoryLocation, row: HTMLAnchorElement): void {
  places.set(entry, row.pathname);
}

export function rememberLastRow(entry: HistoryLocation): void {
  const last = rowsInList().at(-1);
  if (last) rememberRow(entry, last);
}

/** Moves the focus to the next or previous row of the list. */
export function moveInList(entry: HistoryLocation, step: 1 | -1): void {
  const rows = rowsInList();
  const focused = rows.indexOf(document.activeElement as HTMLAnchorElement);
  const at = focused < 0 ? rows.findIndex(({ pathname }) => pathname === places.get(entry)) : focused;
  const next = at < 0 ? (step === 1 ? 0 : rows.length - 1) : at + step;
  const row = rows[Math.max(0, Math.min(rows.length - 1, next))];
  row?.focus();
  // Beside the list, the detail follows.
  if (document.querySelector('.beside')) row?.click();
}
