package spring;

import com.azure.cosmos.models.CosmosPatchOperations;
import com.azure.cosmos.models.PartitionKey;
import com.azure.cosmos.models.PartitionKeyBuilder;
import com.azure.spring.data.cosmos.core.query.CosmosPageRequest;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntPredicate;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import java.util.stream.StreamSupport;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.data.domain.Page;
import org.springframework.data.domain.Pageable;
import org.springframework.data.domain.Slice;
import org.springframework.data.domain.Sort;
import support.Expect;
import support.Recorder;

/** Repositories of Spring Data: saved entities, derived and annotated queries, pages, versions. */
public final class SpringSuite {
    private static final int COUNT = 60;
    private static final Recorder SYNC =
            new Recorder("com.azure", "azure-spring-data-cosmos", "cosmos", "repository");
    private static final Recorder REACTIVE = SYNC.in("reactive repository");

    private final Orders orders;
    private final ReactiveOrders reactive;
    private final NumberedRepository numbered;

    private SpringSuite(AnnotationConfigApplicationContext context) {
        orders = context.getBean(Orders.class);
        reactive = context.getBean(ReactiveOrders.class);
        numbered = context.getBean(NumberedRepository.class);
    }

    public static void main(String[] arguments) {
        try (AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext(SpringConfiguration.class)) {
            SpringSuite suite = new SpringSuite(context);
            suite.entities();
            suite.derived();
            suite.annotated();
            suite.pages();
            suite.hierarchies();
            suite.reactive();
            suite.deletions();
            new Templates(SYNC, context).run();
        }
        Recorder.exit();
    }

    private void entities() {
        SYNC.works("entities", "saveAll", () ->
                Expect.equal(count(orders.saveAll(IntStream.range(0, COUNT).mapToObj(SpringSuite::order).toList())), (long) COUNT));
        SYNC.works("entities", "findById, existsById, findAllById, count, findAll", () -> {
            Expect.equal(orders.findById("o7", new PartitionKey("c7")).orElseThrow().getTotal(), 7.0);
            Expect.equal(orders.findById("o8").orElseThrow().getCustomer(), "c8");
            Expect.isTrue(orders.findById("none", new PartitionKey("c7")).isEmpty(), "found");
            Expect.isTrue(orders.existsById("o7"), "not found");
            Expect.equal(count(orders.findAllById(List.of("o1", "o2", "none"))), 2L);
            Expect.equal(orders.count(), (long) COUNT);
            Expect.equal(count(orders.findAll()), (long) COUNT);
            Expect.equal(count(orders.findAll(new PartitionKey("c3"))), COUNT / 10L);
        });
        SYNC.works("entities", "save with a version: the ETag decides", () -> {
            Order first = orders.findById("o1", new PartitionKey("c1")).orElseThrow();
            Order second = orders.findById("o1", new PartitionKey("c1")).orElseThrow();
            first.setTotal(1.5);
            String etag = orders.save(first).get_etag();
            Expect.isTrue(etag != null && !etag.equals(second.get_etag()), "the version has not changed");
            Expect.isTrue(Expect.error(RuntimeException.class, () -> orders.save(second)) != null, "accepted");
            first.set_etag(etag);
            first.setTotal(1.0);
            orders.save(first);
        });
        SYNC.works("entities", "save(id, key, type, patch operations)", () -> {
            Order patched = orders.save("o2", new PartitionKey("c2"), Order.class, CosmosPatchOperations.create().set("/state", "patched"));
            Expect.equal(patched.getState(), "patched");
            orders.save("o2", new PartitionKey("c2"), Order.class, CosmosPatchOperations.create().set("/state", "sent"));
        });
    }

    private void derived() {
        SYNC.works("derived queries", "equality, And, Or, comparisons, Between, In", () -> {
            same(() -> orders.findByCustomer("c4"), n -> n % 10 == 4);
            same(() -> orders.findByStateAndTotalGreaterThan("open", 30), n -> n % 3 == 0 && n > 30);
            same(() -> orders.findByStateOrTotalLessThanEqual("open", 5), n -> n % 3 == 0 || n <= 5);
            same(() -> orders.findByTotalBetween(10, 20), n -> n >= 10 && n <= 20);
            same(() -> orders.findByCustomerIn(List.of("c1", "c2")), n -> n % 10 == 1 || n % 10 == 2);
        });
        SYNC.works("derived queries", "StartsWith, IgnoreCase, Containing, IsNull, Not", () -> {
            same(() -> orders.findByStateStartsWithIgnoreCase("OP"), n -> n % 3 == 0);
            same(() -> orders.findByStateContaining("en"), n -> n % 3 != 1);
            same(orders::findByStateIsNull, n -> n % 3 == 1);
            same(() -> orders.findByStateNot("open"), n -> n % 3 != 0);
        });
        SYNC.works("derived queries", "Sort, Top", () -> {
            List<Order> sorted = orders.findByState("open", Sort.by(Sort.Direction.DESC, "total"));
            Expect.equal(sorted.get(0).getTotal(), 57.0);
            Expect.equal(sorted.size(), 20);
            Expect.equal(orders.findTop3ByCustomer("c5", Sort.by("total")).stream().map(Order::getTotal).toList(),
                    List.of(5.0, 15.0, 25.0));
        });
        SYNC.works("derived queries", "count, exists", () -> {
            Expect.equal(orders.countByState("sent"), 20L);
            Expect.isTrue(orders.existsByCustomerAndState("c2", "sent"), "missing");
            Expect.isTrue(!orders.existsByCustomerAndState("c2", "lost"), "found");
        });
    }

    private void annotated() {
        SYNC.works("annotated queries", "@Query with parameters, ORDER BY, GROUP BY, COUNT", () -> {
            Expect.equal(orders.expensive("c6", 30).stream().map(Order::getTotal).toList(), List.of(36.0, 46.0, 56.0));
            Expect.equal(orders.countThose("open"), 20L);
            same(() -> orders.tagged("t1"), n -> n % 4 == 1);
            Expect.equal(orders.ordersOfCustomers().stream().mapToInt(row -> row.get("orders").asInt()).sum(), COUNT);
        });
        SYNC.works("annotated queries", "IN with a list, as slices", () -> {
            List<Order> found = new ArrayList<>();
            Pageable next = new CosmosPageRequest(0, 7, null);
            while (next != null) {
                Slice<Order> slice = orders.inStates(List.of("open", "sent"), next);
                found.addAll(slice.getContent());
                next = slice.hasNext() ? slice.nextPageable() : null;
            }
            same(() -> found, n -> n % 3 != 1);
        });
    }

    private void pages() {
        SYNC.works("pages", "findAll(Pageable), from page to page", () -> {
            List<Order> found = new ArrayList<>();
            Page<Order> page = orders.findAll(new CosmosPageRequest(0, 25, null, Sort.by("total")));
            Expect.equal(page.getTotalElements(), (long) COUNT);
            Expect.equal(page.getTotalPages(), 3);
            found.addAll(page.getContent());
            while (page.hasNext()) {
                page = orders.findAll(page.nextPageable());
                found.addAll(page.getContent());
            }
            Expect.equal(found.stream().map(Order::getTotal).toList(), IntStream.range(0, COUNT).mapToObj(n -> (double) n).toList());
        });
        SYNC.works("pages", "a derived query, from page to page; an offset", () -> {
            List<Order> found = new ArrayList<>();
            Page<Order> page = orders.findByState("open", new CosmosPageRequest(0, 6, null));
            found.addAll(page.getContent());
            while (page.hasNext()) {
                page = orders.findByState("open", page.nextPageable());
                found.addAll(page.getContent());
            }
            same(() -> found, n -> n % 3 == 0);
            Expect.equal(orders.findAll(CosmosPageRequest.of(50, 0, 25, null, Sort.by("total"))).getContent().size(), 10);
        });
        SYNC.works("pages", "findAll(Sort)", () -> Expect.equal(
                orders.findAll(Sort.by(Sort.Direction.DESC, "total")).iterator().next().getTotal(), 59.0));
    }

    private void hierarchies() {
        SYNC.works("entities", "a generated id, a hierarchical key, unique keys", () -> {
            Numbered saved = numbered.save(new Numbered("eu", "ann", 1));
            numbered.save(new Numbered("eu", "bob", 2));
            numbered.save(new Numbered("us", "ann", 3));
            Expect.isTrue(saved.getId() != null, "no id");
            Expect.isTrue(Expect.error(RuntimeException.class, () -> numbered.save(new Numbered("eu", "ann", 1))) != null, "accepted");
            Expect.equal(numbered.findByTenantOrderByNDesc("eu").stream().map(Numbered::getN).toList(), List.of(2, 1));
            PartitionKey key = new PartitionKeyBuilder().add("eu").add("ann").build();
            Expect.equal(numbered.findById(saved.getId(), key).orElseThrow().getN(), 1);
        });
    }

    private void reactive() {
        REACTIVE.works("entities", "save, findById, findAll, count, deleteById", () -> {
            reactive.save(new Order("r", "cr", "open", 100, List.of())).block();
            Expect.equal(reactive.findById("r", new PartitionKey("cr")).block().getTotal(), 100.0);
            Expect.equal(reactive.findAll().count().block(), COUNT + 1L);
            Expect.equal(reactive.count().block(), COUNT + 1L);
            reactive.deleteById("r", new PartitionKey("cr")).block();
            Expect.equal(reactive.existsById("r").block(), false);
        });
        REACTIVE.works("entities", "saveAll, deleteAll", () -> {
            List<Order> more = IntStream.range(0, 30).mapToObj(n -> new Order("m" + n, "cm", "more", 1000, List.of())).toList();
            List<Order> saved = reactive.saveAll(more).collectList().block();
            Expect.equal(saved.size(), 30);
            reactive.deleteAll(saved).block();
            Expect.equal(reactive.countByState("more").block(), 0L);
        });
        REACTIVE.works("derived queries", "equality, count", () -> {
            Expect.equal(reactive.findByCustomer("c9").count().block(), 6L);
            Expect.equal(reactive.countByState("open").block(), 20L);
        });
        REACTIVE.works("annotated queries", "@Query with parameters", () ->
                Expect.equal(reactive.above(49.5).count().block(), 10L));
    }

    private void deletions() {
        SYNC.works("entities", "deleteById, delete, derived delete, deleteAll", () -> {
            orders.deleteById("o0", new PartitionKey("c0"));
            orders.delete(orders.findById("o1", new PartitionKey("c1")).orElseThrow());
            orders.deleteByState("open");
            same(orders::findAll, n -> n % 3 != 0 && n > 1);
            orders.deleteAll();
            Expect.equal(orders.count(), 0L);
        });
    }

    private static Order order(int n) {
        String state = n % 3 == 0 ? "open" : n % 3 == 2 ? "sent" : null;
        return new Order("o" + n, "c" + n % 10, state, n, List.of("t" + n % 4));
    }

    private static void same(Supplier<? extends Iterable<Order>> found, IntPredicate expected) {
        Expect.equal(StreamSupport.stream(found.get().spliterator(), false).map(Order::getId).sorted().toList(),
                IntStream.range(0, COUNT).filter(expected).mapToObj(n -> "o" + n).sorted().toList());
    }

    private static long count(Iterable<?> found) {
        return StreamSupport.stream(found.spliterator(), false).count();
    }
}
