// com.sun.net.httpserver: / answers, /slow takes a second.
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.concurrent.Executors;

public class App {
  private static void answer(HttpExchange exchange, String text) throws IOException {
    exchange.sendResponseHeaders(200, text.length());
    exchange.getResponseBody().write(text.getBytes());
    exchange.close();
  }

  public static void main(String[] arguments) throws IOException {
    int port = Integer.parseInt(System.getenv("PORT"));
    HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", port), 0);
    server.createContext("/", exchange -> answer(exchange, "hello from java"));
    server.createContext("/slow", exchange -> {
      try {
        Thread.sleep(1000);
      } catch (InterruptedException end) {
        Thread.currentThread().interrupt();
      }
      answer(exchange, "slow");
    });
    server.setExecutor(Executors.newCachedThreadPool());
    System.out.println("java listens on " + port);
    server.start();
  }
}
