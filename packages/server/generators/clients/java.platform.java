import java.util.Map;
import org.openapitools.client.ApiClient;
import org.openapitools.client.api.EventsApi;
import org.openapitools.client.model.*;

public class Program {
  public static void main(String[] args) throws Exception {
    ApiClient client = new ApiClient().setBasePath(System.getenv("API_URL"));
    client.setBearerToken(System.getenv("TOKEN"));
    NewEvent event = new NewEvent()
        .type("invoice.paid")
        .organizationId(System.getenv("ORGANIZATION"))
        .actor(new ReferenceInput().type("user").id("USR-ada"))
        .subject(new ReferenceInput().type("invoice").id("INV-1"))
        .payload(Map.of("id", "INV-1", "amount_minor", 100, "currency", "EUR"));
    RecordEventsBody recorded = new EventsApi(client).recordEvents(new RecordEventsRequest(event));
    System.out.println(recorded.getData().get(0).getId());
    System.exit(0);
  }
}
