import base64, hashlib, hmac, os, time

from flask import Flask, request

SECRET = os.environ["WEBHOOK_SECRET"]
app = Flask(__name__)
handled = set()  # use a table in production: see docs/receive-webhooks.md


def is_valid(body: bytes, headers, secret: str) -> bool:
    sent_at = headers.get("webhook-timestamp", "")
    if not sent_at.isdigit() or abs(time.time() - int(sent_at)) > 300:
        return False
    # The base64 padding may be missing. Python ignores excess padding.
    key = base64.b64decode(secret[6:] + "==") if secret.startswith("whsec_") else secret.encode()
    signed = f'{headers.get("webhook-id", "")}.{sent_at}.'.encode() + body
    digest = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    given = headers.get("webhook-signature", "").split(" ")
    return any(hmac.compare_digest(f"v1,{digest}", each) for each in given)


@app.post("/webhooks")
def receive():
    body = request.get_data()  # the bytes, before anything parses them
    if not is_valid(body, request.headers, SECRET):
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
