/** Where a receiver listens. */
export interface ReceiverPlace {
  path: string;
  port: string;
}

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

type Code = (secret: string | undefined, place: ReceiverPlace) => string;

const nodeVerify = `function isValid(body, headers) {
  const sentAt = Number(headers['webhook-timestamp']);
  if (!(Math.abs(Date.now() / 1000 - sentAt) < 300)) return false;
  const digest = createHmac('sha256', key)
    .update(\`\${headers['webhook-id']}.\${sentAt}.\`)
    .update(body) // the raw bytes, never JSON.stringify(parsed)
    .digest('base64');
  const expected = Buffer.from('v1,' + digest);
  const isExpected = (one) =>
    one.length === expected.length && timingSafeEqual(one, expected);
  return String(headers['webhook-signature'])
    .split(' ')
    .map((one) => Buffer.from(one))
    .some(isExpected);
}`;

const nodeHead = (secret: string | undefined) => `import { createHmac, timingSafeEqual } from 'node:crypto';

const secret = process.env.WEBHOOK_SECRET ${secret ? `||\n  '${secret}'` : "?? ''"};
const key = secret.startsWith('whsec_')
  ? Buffer.from(secret.slice(6), 'base64')
  : Buffer.from(secret);
if (key.length === 0)
  throw new Error("Set WEBHOOK_SECRET to the webhook's secret.");

${nodeVerify}`;

const express: Code = (secret, { path, port }) => `import express from 'express';
${nodeHead(secret)}

const app = express();
// Before express.json(), which would discard the raw bytes.
const raw = express.raw({ type: '*/*', limit: '10mb' });
app.post('${path}', raw, (req, res) => {
  if (!isValid(req.body, req.headers))
    return res.status(401).send('invalid signature');
  const event = JSON.parse(req.body);
  // Store the event before you respond; do slow work later.
  console.log(event.type, event.id);
  res.sendStatus(200);
});
app.listen(${port});`;

const fastify: Code = (secret, { path, port }) => `import Fastify from 'fastify';
${nodeHead(secret)}

const app = Fastify({ bodyLimit: 10 * 1024 * 1024 });
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

const hono: Code = (secret, { path, port }) => `import { serve } from '@hono/node-server';
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

const next: Code = (secret) => `${nodeHead(secret)}

export async function POST(request) {
  const body = Buffer.from(await request.arrayBuffer());
  if (!isValid(body, Object.fromEntries(request.headers)))
    return new Response('invalid signature', { status: 401 });
  const event = JSON.parse(body);
  // Store the event before you respond; do slow work later.
  console.log(event.type, event.id);
  return new Response(null, { status: 200 });
}`;

const flask: Code = (secret, { path, port }) => `import base64, hashlib, hmac, os, re, sys, time
from flask import Flask, request

secret = os.environ.get("WEBHOOK_SECRET"${secret ? `) or (\n    "${secret}"\n` : ', ""'})
key = secret.encode()
if secret.startswith("whsec_"):
    # The padding may be missing. Python ignores excess padding.
    key = base64.b64decode(secret[6:] + "==")
if not key:
    sys.exit("Set WEBHOOK_SECRET to the webhook's secret.")

def is_valid(body, headers):
    sent_at = headers.get("webhook-timestamp", "")
    if not re.fullmatch("[0-9]{1,12}", sent_at):
        return False
    if abs(time.time() - int(sent_at)) > 300:
        return False
    head = f'{headers.get("webhook-id", "")}.{sent_at}.'
    signed = head.encode() + body
    digest = hmac.new(key, signed, hashlib.sha256).digest()
    expected = b"v1," + base64.b64encode(digest)
    given = headers.get("webhook-signature", "").encode().split()
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

const go: Code = (secret, { path, port }) => `package main

import (
${secret ? '\t"cmp"\n' : ''}	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

var secret = ${secret ? `cmp.Or(\n\tos.Getenv("WEBHOOK_SECRET"),\n\t"${secret}",\n)` : 'os.Getenv("WEBHOOK_SECRET")'}

var key = signingKey()

func signingKey() []byte {
	var err error
	key := []byte(secret)
	if rest, found := strings.CutPrefix(secret, "whsec_"); found {
		rest = strings.TrimRight(rest, "=") // optional padding
		key, err = base64.RawStdEncoding.DecodeString(rest)
	}
	if err != nil || len(key) == 0 {
		log.Fatal("Set WEBHOOK_SECRET to the webhook's secret.")
	}
	return key
}

func isValid(body []byte, h http.Header) bool {
	stamp := h.Get("webhook-timestamp")
	sentAt, err := strconv.ParseInt(stamp, 10, 64)
	age := time.Since(time.Unix(sentAt, 0))
	if err != nil || age.Abs() > 5*time.Minute {
		return false
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

const java: Code = (secret, { path, port }) => `import static java.nio.charset.StandardCharsets.UTF_8;

import com.sun.net.httpserver.Headers;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.security.MessageDigest;
import java.util.Base64;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

class Receiver {
  static SecretKeySpec keyOf(String secret) { // throws if it is empty
    Base64.Decoder base64 = Base64.getDecoder();
    return new SecretKeySpec(secret.startsWith("whsec_")
        ? base64.decode(secret.substring(6)) : secret.getBytes(UTF_8), "HmacSHA256");
  }

  static boolean isValid(byte[] body, Headers headers, SecretKeySpec key) throws Exception {
    String sentAt = "" + headers.getFirst("webhook-timestamp");
    if (!sentAt.matches("[0-9]{1,12}")) return false;
    long age = System.currentTimeMillis() / 1000 - Long.parseLong(sentAt);
    if (Math.abs(age) > 300) return false;
    Mac mac = Mac.getInstance("HmacSHA256");
    mac.init(key);
    mac.update((headers.getFirst("webhook-id") + "." + sentAt + ".").getBytes(UTF_8));
    String expected = "v1," + Base64.getEncoder().encodeToString(mac.doFinal(body));
    for (String given : ("" + headers.getFirst("webhook-signature")).split(" "))
      if (MessageDigest.isEqual(given.getBytes(UTF_8), expected.getBytes(UTF_8))) return true;
    return false;
  }

  public static void main(String[] args) throws IOException {
    String secret = System.getenv().getOrDefault("WEBHOOK_SECRET", "");
${secret ? `    if (secret.isEmpty()) secret = "${secret}";\n` : ''}    SecretKeySpec key = keyOf(secret);
    HttpServer server = HttpServer.create(new InetSocketAddress(${port}), 0);
    server.createContext("${path}", request -> {
      byte[] body = request.getRequestBody().readAllBytes();
      int status = 500;
      try {
        status = isValid(body, request.getRequestHeaders(), key) ? 200 : 401;
        // Store the event before you respond; do slow work later.
        if (status == 200) System.out.println(new String(body, UTF_8));
      } catch (Exception error) {
        error.printStackTrace();
      }
      request.sendResponseHeaders(status, -1);
      request.close();
    });
    server.start();
  }
}`;

const ruby: Code = (secret, { path, port }) => `require 'json'
require 'openssl'
require 'socket'

def key_of(secret)
  secret.start_with?('whsec_') ? secret.delete_prefix('whsec_').unpack1('m') : secret
end

# body: the bytes that arrived. headers: a hash with names in lower case.
def valid?(body, headers, key)
  sent_at = headers['webhook-timestamp'].to_s
  return false unless sent_at.match?(/\\A[0-9]{1,12}\\z/)
  return false if (Time.now.to_i - sent_at.to_i).abs > 300

  signed = "#{headers['webhook-id']}.#{sent_at}.".b + body.b
  expected = "v1,#{[OpenSSL::HMAC.digest('SHA256', key, signed)].pack('m0')}"
  given = headers['webhook-signature'].to_s.split
  given.any? { |one| OpenSSL.secure_compare(expected, one) }
end

key = key_of(ENV.fetch('WEBHOOK_SECRET', '')${secret ? `.then { |set| set.empty? ? '${secret}' : set }` : ''})
abort "Set WEBHOOK_SECRET to the webhook's secret." if key.empty?
$stdout.sync = true

# A small server for ${path}. In Rails, use request.raw_post and request.headers.
Socket.tcp_server_loop('127.0.0.1', ${port}) do |client|
  Thread.new do
    head = client.gets("\\r\\n\\r\\n").to_s.b
    headers = head.scan(/^([^:\\r\\n]+): *(.*)\\r$/).to_h { |name, value| [name.downcase, value] }
    body = client.read(headers['content-length'].to_i).to_s
    is_valid = valid?(body, headers, key)
    # Store the event before you respond; do slow work later.
    puts JSON.parse(body).values_at('type', 'id').join(' ') if is_valid
    status = is_valid ? '200 OK' : '401 Unauthorized'
    client.write "HTTP/1.1 #{status}\\r\\nContent-Length: 0\\r\\nConnection: close\\r\\n\\r\\n"
  ensure
    client.close
  end
end`;

const php: Code = (secret, { path, port }) => `<?php
// Run it with php -S 127.0.0.1:${port} receiver.php. It serves ${path} and every other path.
function keyOf(string $secret): string {
    return str_starts_with($secret, 'whsec_') ? base64_decode(substr($secret, 6)) : $secret;
}

function isValid(string $body, array $server, string $key): bool {
    $sentAt = $server['HTTP_WEBHOOK_TIMESTAMP'] ?? '';
    if (!ctype_digit($sentAt) || abs(time() - (int) $sentAt) > 300) return false;
    $signed = ($server['HTTP_WEBHOOK_ID'] ?? '') . ".$sentAt.$body"; // the raw bytes
    $expected = 'v1,' . base64_encode(hash_hmac('sha256', $signed, $key, true));
    $given = explode(' ', $server['HTTP_WEBHOOK_SIGNATURE'] ?? '');
    return array_filter($given, fn($one) => hash_equals($expected, $one)) !== [];
}

$key = keyOf(getenv('WEBHOOK_SECRET') ?: '${secret ?? ''}');
$body = file_get_contents('php://input');
// Anyone can sign with an empty key.
if ($key === '' || !isValid($body, $_SERVER, $key)) {
    http_response_code(401);
    exit('invalid signature');
}
$event = json_decode($body);
// Store the event before you respond; do slow work later.
error_log("$event->type $event->id");`;

const nextFile = ({ path }: ReceiverPlace) => `app${path.replace(/\/$/, '')}/route.js`;

export const frameworks = [
  { key: 'express', label: 'Express', file: () => 'receiver.mjs', code: express },
  { key: 'fastify', label: 'Fastify', file: () => 'receiver.mjs', code: fastify },
  { key: 'hono', label: 'Hono', file: () => 'receiver.mjs', code: hono },
  { key: 'next', label: 'Next.js', file: nextFile, code: next },
  { key: 'flask', label: 'Flask', file: () => 'receiver.py', code: flask },
  { key: 'go', label: 'Go', file: () => 'main.go', code: go },
  { key: 'java', label: 'Java', file: () => 'Receiver.java', code: java },
  { key: 'ruby', label: 'Ruby', file: () => 'receiver.rb', code: ruby },
  { key: 'php', label: 'PHP', file: () => 'receiver.php', code: php },
] as const;
