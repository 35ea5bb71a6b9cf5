require 'json'
require 'openssl'
require 'socket'

def key_of(secret)
  secret.start_with?('whsec_') ? secret.delete_prefix('whsec_').unpack1('m') : secret
end

# body: the bytes that arrived. headers: a hash with names in lower case.
def valid?(body, headers, key)
  sent_at = headers['webhook-timestamp'].to_s
  return false unless sent_at.match?(/\A[0-9]{1,12}\z/)
  return false if (Time.now.to_i - sent_at.to_i).abs > 300

  signed = "#{headers['webhook-id']}.#{sent_at}.".b + body.b
  expected = "v1,#{[OpenSSL::HMAC.digest('SHA256', key, signed)].pack('m0')}"
  given = headers['webhook-signature'].to_s.split
  given.any? { |one| OpenSSL.secure_compare(expected, one) }
end

key = key_of(ENV.fetch('WEBHOOK_SECRET', ''))
abort "Set WEBHOOK_SECRET to the webhook's secret." if key.empty?
$stdout.sync = true

# A small server for /webhooks. In Rails, use request.raw_post and request.headers.
Socket.tcp_server_loop('127.0.0.1', 3000) do |client|
  Thread.new do
    head = client.gets("\r\n\r\n").to_s.b
    headers = head.scan(/^([^:\r\n]+): *(.*)\r$/).to_h { |name, value| [name.downcase, value] }
    body = client.read(headers['content-length'].to_i).to_s
    is_valid = valid?(body, headers, key)
    # Store the event before you respond; do slow work later.
    puts JSON.parse(body).values_at('type', 'id').join(' ') if is_valid
    status = is_valid ? '200 OK' : '401 Unauthorized'
    client.write "HTTP/1.1 #{status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
  ensure
    client.close
  end
end
