import base64, hashlib, hmac, os, re, sys, time

from flask import Flask, request

app = Flask(__name__)
handled = set()  # use a table in production: see docs/receive-webhooks.md


def key_of(secret: str) -> bytes:
    # The base64 padding may be missing. Python ignores excess padding.
    return base64.b64decode(secret[6:] + "==") if secret.startswith("whsec_") else secret.encode()


def is_valid(body: bytes, headers, key: bytes) -> bool:
    sent_at = headers.get("webhook-timestamp", "")
    if not re.fullmatch("[0-9]{1,12}", sent_at) or abs(time.time() - int(sent_at)) > 300:
        return False
    signed = f'{headers.get("webhook-id", "")}.{sent_at}.'.encode() + body
    expected = b"v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest())
    given = headers.get("webhook-signature", "").encode().split()
    return any(hmac.compare_digest(expected, each) for each in given)


KEY = key_of(os.environ.get("WEBHOOK_SECRET", ""))
if not KEY:  # anyone can sign with an empty key
    sys.exit("Set WEBHOOK_SECRET to the webhook's secret.")


@app.post("/webhooks")
def receive():
    body = request.get_data()  # the bytes, before anything parses them
    if not is_valid(body, request.headers, KEY):
        return "invalid signature", 401
    event = request.get_json()
    if event["type"] == "webhook.verification":
        return "verified"
    if event["id"] not in handled:
        handle(event)
        handled.add(event["id"])
    return "handled"


def handle(event):
    if event["type"] == "invoice.paid":
        data = event["data"]
        print(f'{data["id"]} is paid: {data["amount_minor"]} {data["currency"]}', flush=True)


if __name__ == "__main__":
    app.run(host="127.0.0.1", port=int(os.environ.get("PORT", "3000")))
