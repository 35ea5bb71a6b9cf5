const lineEveryMs = 5_000;
let shownMs = performance.now();

/** Shows on stderr what a benchmark is doing: in place on a terminal, and as a line every few seconds elsewhere. */
export function progress(text) {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K  … ${text}`);
  else if (performance.now() - shownMs >= lineEveryMs) {
    shownMs = performance.now();
    process.stderr.write(`  … ${text}\n`);
  }
}

/** Makes room for a line of figures. */
export function clearProgress() {
  if (process.stderr.isTTY) process.stderr.write('\r\x1b[K');
}
