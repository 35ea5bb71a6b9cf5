import base64, hashlib, hmac, os, re, sys, time
from flask import Flask, request

secret = os.environ.get("WEBHOOK_SECRET", "")
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

@app.post("/webhooks")
def webhooks():
    # The raw bytes, never json.dumps(request.json).
    if not is_valid(request.get_data(), request.headers):
        return "invalid signature", 401
    # Store the event before you respond; do slow work later.
    print(request.json["type"], request.json["id"])
    return "", 200

app.run(port=3000)
