import static java.nio.charset.StandardCharsets.UTF_8;

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
    SecretKeySpec key = keyOf(secret);
    HttpServer server = HttpServer.create(new InetSocketAddress(3000), 0);
    server.createContext("/webhooks", request -> {
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
}
