// Loads the chunks of the bundled program with the code that V8 has compiled for them in an earlier process.
const { existsSync, readFileSync, renameSync, writeFileSync } = require('node:fs');
const { createRequire } = require('node:module');
const { join } = require('node:path');
const { pathToFileURL } = require('node:url');
const { setFlagsFromString } = require('node:v8');
const { constants, Script } = require('node:vm');

const parameters = ['exports', 'require', 'module', '__filename', '__dirname', 'ownUrl', 'resolveUrl'];
const root = join(__dirname, '../../../..');
/** The directory in which our packages look for their files: the repository, or a version that a test has made. */
const home = process.env.BUNDLE_HOME ?? root;
const ownUrl = (path) => pathToFileURL(join(path.startsWith('packages/') ? home : root, path)).href;
const chunks = new Map();
const codeOf = (filename) => `${filename}.code`;

/** Returns what a chunk exports. */
exports.load = function load(name) {
  const known = chunks.get(name);
  if (known) return known.module.exports;
  const filename = join(__dirname, name);
  const code = codeOf(filename);
  const script = new Script(`(function (${parameters}) {${readFileSync(filename, 'utf8')}\n})`, {
    filename,
    cachedData: existsSync(code) ? readFileSync(code) : undefined,
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
  const module = { exports: {} };
  chunks.set(name, { filename, module, script });
  const others = createRequire(filename);
  const require = Object.assign((id) => (id.startsWith('./') ? load(id.slice(2)) : others(id)), others);
  const resolveUrl = (id) => pathToFileURL(others.resolve(id)).href;
  script.runInThisContext()(module.exports, require, module, filename, __dirname, ownUrl, resolveUrl);
  return module.exports;
};

/** Keeps the code of all chunks for the processes that start later. */
exports.keepCode = () => {
  // The service has set this flag, and V8 accepts only code that was compiled with the same flags.
  setFlagsFromString('--heap-growing-percent=0');
  for (const { filename, script } of chunks.values()) {
    // Another run may be doing the same.
    const draft = `${filename}.${process.pid}`;
    writeFileSync(draft, script.createCachedData());
    renameSync(draft, codeOf(filename));
  }
};
