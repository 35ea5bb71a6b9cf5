<?php
// Run it with php -S 127.0.0.1:3000 receiver.php. It serves /webhooks and every other path.
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

$key = keyOf(getenv('WEBHOOK_SECRET') ?: '');
$body = file_get_contents('php://input');
// Anyone can sign with an empty key.
if ($key === '' || !isValid($body, $_SERVER, $key)) {
    http_response_code(401);
    exit('invalid signature');
}
$event = json_decode($body);
// Store the event before you respond; do slow work later.
error_log("$event->type $event->id");
