/// <reference types="vite/client" />
import express from './programs/express.mjs?raw';
import fastify from './programs/fastify.mjs?raw';
import flask from './programs/flask.py?raw';
import hono from './programs/hono.mjs?raw';
import isValid from './programs/is-valid.mjs?raw';
import go from './programs/main.go?raw';
import next from './programs/next.mjs?raw';
import java from './programs/Receiver.java?raw';
import php from './programs/receiver.php?raw';
import ruby from './programs/receiver.rb?raw';

/** Where a receiver listens. */
export interface ReceiverPlace {
  path: string;
  port: string;
}

/** What the programs have in them. */
const usual: ReceiverPlace = { path: '/webhooks', port: '3000' };

/** Has the same meaning in a string and in a route of every framework. */
const plainPath = /^(\/[\w.~-]+)+\/?$|^\/$/;

const loopback = /^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\])$/;

/**
 * Returns where the receiver of a URL listens: at the URL's path, and on its port if the receiver is on this machine.
 * Any other host may forward requests to a different port.
 */
export function placeOf(url: string): ReceiverPlace {
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) return usual;
  const { protocol, hostname, port, pathname } = new URL(url);
  const isLocal = loopback.test(hostname);
  return {
    path: plainPath.test(pathname) ? pathname : usual.path,
    port: isLocal ? port || (protocol === 'https:' ? '443' : '80') : usual.port,
  };
}

/**
 * Receivers that verify a request and respond with 200, one for each framework. They do not depend on a
 * Posthorn package. They do not start without a secret, because anyone can sign with an empty key.
 */
function program(text: string, withSecret: (text: string, secret: string) => string) {
  const whole = text.replace('// See is-valid.mjs.', () => isValid.trimEnd()).trimEnd();
  return (secret: string | undefined, { path, port }: ReceiverPlace) => {
    const placed = whole.replaceAll(usual.port, port).replaceAll(usual.path, path);
    return secret ? withSecret(placed, secret) : placed;
  };
}

const inNode = (text: string, secret: string) =>
  text.replace("WEBHOOK_SECRET ?? ''", () => `WEBHOOK_SECRET ||\n  '${secret}'`);

const nextFile = ({ path }: ReceiverPlace) => `app${path.replace(/\/$/, '')}/route.js`;

export const frameworks = [
  { key: 'express', label: 'Express', file: () => 'receiver.mjs', code: program(express, inNode) },
  { key: 'fastify', label: 'Fastify', file: () => 'receiver.mjs', code: program(fastify, inNode) },
  { key: 'hono', label: 'Hono', file: () => 'receiver.mjs', code: program(hono, inNode) },
  { key: 'next', label: 'Next.js', file: nextFile, code: program(next, inNode) },
  {
    key: 'flask',
    label: 'Flask',
    file: () => 'receiver.py',
    code: program(flask, (text, secret) => text.replace(', "")', () => `) or (\n    "${secret}"\n)`)),
  },
  {
    key: 'go',
    label: 'Go',
    file: () => 'main.go',
    code: program(go, (text, secret) =>
      text
        .replace('import (', 'import (\n\t"cmp"')
        .replace(/os\.Getenv\(.*\)/, (get) => `cmp.Or(\n\t${get},\n\t"${secret}",\n)`),
    ),
  },
  {
    key: 'java',
    label: 'Java',
    file: () => 'Receiver.java',
    code: program(java, (text, secret) =>
      text.replace(
        '    SecretKeySpec key =',
        (key) => `    if (secret.isEmpty()) secret = "${secret}";\n${key}`,
      ),
    ),
  },
  {
    key: 'ruby',
    label: 'Ruby',
    file: () => 'receiver.rb',
    code: program(ruby, (text, secret) =>
      text.replace(/ENV\.fetch\([^)]*\)/, (get) => `${get}.then { |set| set.empty? ? '${secret}' : set }`),
    ),
  },
  {
    key: 'php',
    label: 'PHP',
    file: () => 'receiver.php',
    code: program(php, (text, secret) => text.replace("?: ''", () => `?: '${secret}'`)),
  },
] as const;
