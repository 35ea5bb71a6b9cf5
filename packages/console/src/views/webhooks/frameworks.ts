import type { ReceiverPlace } from './receiver-place';

/**
 * Receivers that verify a request and respond with 200, one for each framework. They do not depend on a
 * Posthorn package.
 */

const nodeVerify = `function isValid(body, headers) {
  const sentAt = Number(headers['webhook-timestamp']);
  if (!(Math.abs(Date.now() / 1000 - sentAt) < 300)) return false;
  const key = secret.startsWith('whsec_')
    ? Buffer.from(secret.slice(6), 'base64')
    : secret;
  const expected = 'v1,' + createHmac('sha256', key)
    .update(\`\${headers['webhook-id']}.\${sentAt}.\`)
    .update(body) // the raw bytes, never JSON.stringify(parsed)
    .digest('base64');
  const isExpected = (one) =>
    one.length === expected.length &&
    timingSafeEqual(Buffer.from(one), Buffer.from(expected));
  return String(headers['webhook-signature'])
    .split(' ')
    .some(isExpected);
}`;

const nodeHead = (secret: string) => `import { createHmac, timingSafeEqual } from 'node:crypto';

const secret = process.env.WEBHOOK_SECRET ??
  '${secret}';

${nodeVerify}`;

const express = (secret: string, { path, port }: ReceiverPlace) => `import express from 'express';
${nodeHead(secret)}

const app = express();
// Before express.json(), which would discard the raw bytes.
app.post('${path}', express.raw({ type: '*/*' }), (req, res) => {
  if (!isValid(req.body, req.headers))
    return res.status(401).send('invalid signature');
  const event = JSON.parse(req.body);
  // Store the event before you respond; do slow work later.
  console.log(event.type, event.id);
  res.sendStatus(200);
});
app.listen(${port});`;

const fastify = (secret: string, { path, port }: ReceiverPlace) => `import Fastify from 'fastify';
${nodeHead(secret)}

const app = Fastify();
// The raw bytes, not parsed JSON.
app.addContentTypeParser(
  'application/json',
  { parseAs: 'buffer' },
  (req, body, done) => done(null, body),
);
app.post('${path}', async (req, reply) => {
  if (!isValid(req.body, req.headers))
    return reply.code(401).send('invalid signature');
  const event = JSON.parse(req.body);
  // Store the event before you respond; do slow work later.
  console.log(event.type, event.id);
  return reply.code(200).send();
});
await app.listen({ port: ${port} });`;

const hono = (secret: string, { path, port }: ReceiverPlace) => `import { serve } from '@hono/node-server';
import { Hono } from 'hono';
${nodeHead(secret)}

const app = new Hono();
app.post('${path}', async (c) => {
  const body = Buffer.from(await c.req.arrayBuffer());
  if (!isValid(body, c.req.header()))
    return c.text('invalid signature', 401);
  const event = JSON.parse(body);
  // Store the event before you respond; do slow work later.
  console.log(event.type, event.id);
  return c.body(null, 200);
});
serve({ fetch: app.fetch, port: ${port} });`;

const next = (secret: string) => `${nodeHead(secret)}

export async function POST(request) {
  const body = Buffer.from(await request.arrayBuffer());
  if (!isValid(body, Object.fromEntries(request.headers)))
    return new Response('invalid signature', { status: 401 });
  const event = JSON.parse(body);
  // Store the event before you respond; do slow work later.
  console.log(event.type, event.id);
  return new Response(null, { status: 200 });
}`;

const flask = (secret: string, { path, port }: ReceiverPlace) => `import base64, hashlib, hmac, os, time
from flask import Flask, request

secret = os.environ.get(
    "WEBHOOK_SECRET", "${secret}"
)

def is_valid(body, headers):
    sent_at = headers.get("webhook-timestamp", "")
    if not sent_at.isdigit():
        return False
    if abs(time.time() - int(sent_at)) > 300:
        return False
    key = secret.encode()
    if secret.startswith("whsec_"):
        key = base64.b64decode(secret[6:])
    head = f'{headers.get("webhook-id", "")}.{sent_at}.'
    signed = head.encode() + body
    digest = hmac.new(key, signed, hashlib.sha256).digest()
    expected = "v1," + base64.b64encode(digest).decode()
    given = headers.get("webhook-signature", "").split(" ")
    return any(hmac.compare_digest(expected, one) for one in given)

app = Flask(__name__)

@app.post("${path}")
def webhooks():
    # The raw bytes, never json.dumps(request.json).
    if not is_valid(request.get_data(), request.headers):
        return "invalid signature", 401
    # Store the event before you respond; do slow work later.
    print(request.json["type"], request.json["id"])
    return "", 200

app.run(port=${port})`;

const go = (secret: string, { path, port }: ReceiverPlace) => `package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"log"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const secret = "${secret}"

func isValid(body []byte, h http.Header) bool {
	stamp := h.Get("webhook-timestamp")
	sentAt, err := strconv.ParseInt(stamp, 10, 64)
	age := time.Since(time.Unix(sentAt, 0))
	if err != nil || age.Abs() > 5*time.Minute {
		return false
	}
	key := []byte(secret)
	if rest, found := strings.CutPrefix(secret, "whsec_"); found {
		key, _ = base64.StdEncoding.DecodeString(rest)
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(h.Get("webhook-id") + "." + stamp + "."))
	mac.Write(body) // the raw bytes
	sum := base64.StdEncoding.EncodeToString(mac.Sum(nil))
	expected := "v1," + sum
	for _, one := range strings.Fields(h.Get("webhook-signature")) {
		if hmac.Equal([]byte(one), []byte(expected)) {
			return true
		}
	}
	return false
}

func receive(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || !isValid(body, r.Header) {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	// Store the event before you respond; do slow work later.
	log.Printf("%s", body)
	w.WriteHeader(http.StatusOK)
}

func main() {
	http.HandleFunc("${path}", receive)
	log.Fatal(http.ListenAndServe(":${port}", nil))
}`;

const nextFile = ({ path }: ReceiverPlace) => `app${path.replace(/\/$/, '')}/route.js`;

export const frameworks = [
  { key: 'express', label: 'Express', file: () => 'receiver.mjs', code: express },
  { key: 'fastify', label: 'Fastify', file: () => 'receiver.mjs', code: fastify },
  { key: 'hono', label: 'Hono', file: () => 'receiver.mjs', code: hono },
  { key: 'next', label: 'Next.js', file: nextFile, code: next },
  { key: 'flask', label: 'Flask', file: () => 'receiver.py', code: flask },
  { key: 'go', label: 'Go', file: () => 'main.go', code: go },
] as const;
