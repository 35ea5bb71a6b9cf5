import java.net.URI;
import java.util.List;
import org.openapitools.client.ApiClient;
import org.openapitools.client.api.*;
import org.openapitools.client.model.*;

public class Program {
  public static void main(String[] args) throws Exception {
    ApiClient client = new ApiClient().setBasePath(System.getenv("API_URL"));
    client.setBearerToken(System.getenv("TOKEN"));
    String organization = System.getenv("ORGANIZATION");
    EventsApi events = new EventsApi(client);
    WebhooksApi webhooks = new WebhooksApi(client);
    EventList listed = events.listEvents(organization, null, null, null, null, null, null, null, null, null, null);
    WebhookList configured = webhooks.listWebhooks(null, null, null, null);
    CreateWebhookRequest body = new CreateWebhookRequest()
        .organizationId(organization)
        .url(URI.create(System.getenv("RECEIVER")))
        .eventTypes(List.of("invoice.*"));
    CreatedWebhookBody created = webhooks.createWebhook(body, null);
    DeliveryDetailBody delivery =
        new DeliveriesApi(client).getDelivery(System.getenv("WEBHOOK"), System.getenv("DELIVERY"));
    System.out.println(String.join(" ",
        listed.getData().get(0).getId(),
        configured.getData().get(0).getId(),
        created.getData().getStatus().getValue(),
        delivery.getData().getStatus().getValue()));
    System.exit(0);
  }
}
