package spring;

import com.azure.cosmos.CosmosAsyncClient;
import com.azure.cosmos.CosmosAsyncContainer;
import com.azure.cosmos.models.CosmosContainerProperties;
import com.azure.cosmos.models.CosmosPatchOperations;
import com.azure.cosmos.models.ExcludedPath;
import com.azure.cosmos.models.IncludedPath;
import com.azure.cosmos.models.IndexingPolicy;
import com.azure.cosmos.models.PartitionKey;
import com.azure.cosmos.models.SqlParameter;
import com.azure.cosmos.models.SqlQuerySpec;
import com.azure.spring.data.cosmos.CosmosFactory;
import com.azure.spring.data.cosmos.config.CosmosConfig;
import com.azure.spring.data.cosmos.core.CosmosTemplate;
import com.azure.spring.data.cosmos.core.ReactiveCosmosTemplate;
import com.azure.spring.data.cosmos.core.convert.MappingCosmosConverter;
import com.azure.spring.data.cosmos.core.query.CosmosPageRequest;
import com.azure.spring.data.cosmos.core.query.CosmosQuery;
import com.azure.spring.data.cosmos.core.query.Criteria;
import com.azure.spring.data.cosmos.core.query.CriteriaType;
import com.azure.spring.data.cosmos.exception.CosmosConflictException;
import com.azure.spring.data.cosmos.exception.CosmosNotFoundException;
import com.azure.spring.data.cosmos.repository.support.CosmosEntityInformation;
import com.azure.spring.data.cosmos.repository.support.SimpleCosmosRepository;
import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.StreamSupport;
import org.springframework.context.ApplicationContext;
import org.springframework.data.domain.Page;
import org.springframework.data.domain.Slice;
import org.springframework.data.domain.Sort;
import org.springframework.data.repository.query.parser.Part;
import support.Expect;
import support.Recorder;

/** What programs do with the templates below the repositories: containers, criteria, texts of queries, tenants. */
final class Templates {
    private static final String PARCELS = "parcels";
    private static final int COUNT = 30;

    private final Recorder sync;
    private final Recorder asynchronous;
    private final CosmosTemplate template;
    private final ReactiveCosmosTemplate reactive;
    private final CosmosAsyncClient client;
    private final MappingCosmosConverter converter;

    Templates(Recorder any, ApplicationContext context) {
        sync = any.in("template");
        asynchronous = any.in("reactive template");
        template = context.getBean(CosmosTemplate.class);
        reactive = context.getBean(ReactiveCosmosTemplate.class);
        client = context.getBean(CosmosAsyncClient.class);
        converter = context.getBean(MappingCosmosConverter.class);
    }

    void run() {
        containers();
        entities();
        queries();
        reactive();
        tenants();
        deletions();
    }

    private void containers() {
        sync.works("containers", "createContainerIfNotExists: nested key, automatic throughput, time to live", () -> {
            CosmosEntityInformation<Parcel, String> information = new CosmosEntityInformation<>(Parcel.class);
            template.createContainerIfNotExists(information);
            CosmosContainerProperties properties = template.getContainerProperties(PARCELS);
            Expect.equal(properties.getPartitionKeyDefinition().getPaths(), List.of("/address/city"));
            Expect.equal(properties.getDefaultTimeToLiveInSeconds(), 7200);
            Expect.equal(container().readThroughput().block().getProperties().getAutoscaleMaxThroughput(), 4000);
            Expect.equal(properties.getIndexingPolicy().getCompositeIndexes().size(), 1);
            Expect.equal(paths(properties.getIndexingPolicy()), List.of("/weight/?", "not /*", "not /\"_etag\"/?"));
            template.createContainerIfNotExists(information);
        });
        sync.works("containers", "a repository with another indexing policy", () -> {
            new SimpleCosmosRepository<>(new CosmosEntityInformation<ReindexedParcel, String>(ReindexedParcel.class), template);
            CosmosContainerProperties properties = template.getContainerProperties(PARCELS);
            Expect.equal(paths(properties.getIndexingPolicy()),
                    List.of("/weight/?", "/sender/?", "not /*", "not /\"_etag\"/?"));
            new SimpleCosmosRepository<>(new CosmosEntityInformation<ReindexedParcel, String>(ReindexedParcel.class), template);
            Expect.equal(template.getContainerProperties(PARCELS).getETag(), properties.getETag());
        });
    }

    private void entities() {
        sync.works("entities", "insert, insertAll, and again", () -> {
            Parcel first = template.insert(parcel(0), key(0));
            Expect.equal(first.getSender(), "s0");
            Expect.error(CosmosConflictException.class, () -> template.insert(parcel(0), key(0)));
            List<Parcel> more = IntStream.range(1, COUNT).mapToObj(Templates::parcel).toList();
            Expect.equal(list(template.insertAll(new CosmosEntityInformation<>(Parcel.class), more)).size(), COUNT - 1);
        });
        sync.works("entities", "findById, patch, upsertAndReturnEntity", () -> {
            Expect.equal(template.findById("p 7 ü+%", Parcel.class, key(7)).getWeight(), 7L);
            Parcel patched = template.patch("p 8 ü+%", key(8), Parcel.class, CosmosPatchOperations.create().increment("/weight", 100));
            Expect.equal(patched.getWeight(), 108L);
            Expect.error(CosmosNotFoundException.class, () ->
                    template.patch("none", key(8), Parcel.class, CosmosPatchOperations.create().set("/weight", 1)));
            Expect.equal(template.upsertAndReturnEntity(PARCELS, parcel(8)).getWeight(), 8L);
        });
        sync.works("entities", "auditing", () -> {
            Parcel first = template.findById("p 9 ü+%", Parcel.class, key(9));
            Expect.equal(first.getChangedBy(), SpringConfiguration.AUDITOR);
            Parcel second = template.upsertAndReturnEntity(PARCELS, parcel(9));
            Expect.isTrue(second.getChanged().isAfter(first.getChanged()), "the time of the change is not later");
            Expect.equal(template.findById("p 9 ü+%", Parcel.class, key(9)).getChanged(), second.getChanged());
        });
    }

    private void queries() {
        sync.works("queries", "find, count and exists by criteria, with a sort, a limit and an offset", () -> {
            CosmosQuery query = new CosmosQuery(is("sender", "S1", Part.IgnoreCaseType.ALWAYS));
            Expect.equal(template.count(query, PARCELS), 10L);
            Expect.isTrue(template.exists(query, Parcel.class, PARCELS), "missing");
            query.with(Sort.by(Sort.Direction.DESC, "weight"));
            Expect.equal(weights(list(template.find(query, Parcel.class, PARCELS)).subList(0, 3)), List.of(28L, 25L, 22L));
            Expect.equal(weights(template.find(query.withLimit(2), Parcel.class, PARCELS)), List.of(28L, 25L));
            Expect.equal(weights(template.find(query.withOffsetAndLimit(1, 2), Parcel.class, PARCELS)), List.of(25L, 22L));
            CosmosQuery inCity = new CosmosQuery(Criteria.getInstance(CriteriaType.AND,
                    is("address.city", "c3", Part.IgnoreCaseType.NEVER), is("sender", "s0", Part.IgnoreCaseType.NEVER)));
            Expect.equal(weights(template.find(inCity, Parcel.class, PARCELS)), List.of(3L));
        });
        sync.works("queries", "paginationQuery, sliceQuery", () -> {
            CosmosQuery query = new CosmosQuery(is("sender", "s2", Part.IgnoreCaseType.NEVER)).with(Sort.by("weight"))
                    .with(new CosmosPageRequest(0, 4, null));
            Page<Parcel> page = template.paginationQuery(query, Parcel.class, PARCELS);
            Expect.equal(page.getTotalElements(), 10L);
            List<Long> found = new ArrayList<>(weights(page));
            for (Slice<Parcel> next = page; next.hasNext();) {
                query.with(next.nextPageable());
                next = template.sliceQuery(query, Parcel.class, PARCELS);
                found.addAll(weights(next));
            }
            Expect.equal(found, IntStream.range(0, COUNT).filter(n -> n % 3 == 2).mapToObj(n -> (long) n).toList());
        });
        sync.works("queries", "runQuery, runPaginationQuery, sum", () -> {
            SqlQuerySpec above = new SqlQuerySpec("SELECT * FROM c WHERE c.weight > @least", new SqlParameter("@least", 24));
            Expect.equal(weights(template.runQuery(above, Sort.by("weight"), Parcel.class, Parcel.class)), List.of(25L, 26L, 27L, 28L, 29L));
            SqlQuerySpec cities = new SqlQuerySpec("SELECT c.address.city, COUNT(1) AS parcels FROM c GROUP BY c.address.city");
            Expect.equal(list(template.runQuery(cities, Parcel.class, JsonNode.class)).size(), 10);
            Page<Parcel> page = template.runPaginationQuery(above, new CosmosPageRequest(0, 3, null), Parcel.class, Parcel.class);
            Expect.equal(page.getContent().size(), 3);
            Expect.equal(template.runPaginationQuery(above, page.nextPageable(), Parcel.class, Parcel.class).getContent().size(), 2);
            Expect.equal(template.sum(new SqlQuerySpec("SELECT VALUE SUM(c.weight) FROM c"), PARCELS), 435L);
        });
    }

    private void reactive() {
        asynchronous.works("entities", "insert, and again, findById, patch, upsert, deleteById", () -> {
            reactive.insert(parcel(99), key(99)).block();
            Expect.error(CosmosConflictException.class, () -> reactive.insert(parcel(99), key(99)).block());
            Expect.equal(reactive.findById("p 99 ü+%", Parcel.class, key(99)).block().getWeight(), 99L);
            Expect.equal(reactive.patch("p 99 ü+%", key(99), Parcel.class, CosmosPatchOperations.create().set("/sender", "x")).block().getSender(), "x");
            Expect.equal(reactive.upsert(parcel(99)).block().getSender(), "s0");
            reactive.deleteById(PARCELS, "p 99 ü+%", key(99)).block();
            Expect.isTrue(reactive.findById("p 99 ü+%", Parcel.class, key(99)).block() == null, "found");
        });
        asynchronous.works("queries", "find, count, exists, runQuery", () -> {
            CosmosQuery query = new CosmosQuery(is("sender", "s1", Part.IgnoreCaseType.NEVER));
            Expect.equal(reactive.count(query, PARCELS).block(), 10L);
            Expect.equal(reactive.exists(query, Parcel.class, PARCELS).block(), true);
            Expect.equal(weights(reactive.find(query.with(Sort.by("weight")), Parcel.class, PARCELS).collectList().block().subList(0, 2)), List.of(1L, 4L));
            SqlQuerySpec heaviest = new SqlQuerySpec("SELECT TOP 1 * FROM c ORDER BY c.weight DESC");
            Expect.equal(weights(reactive.runQuery(heaviest, Parcel.class, Parcel.class).collectList().block()), List.of(29L));
        });
    }

    private void tenants() {
        sync.works("containers", "a container of a tenant's own, chosen by the CosmosFactory", () -> {
            CosmosFactory factory = new CosmosFactory(client, SpringConfiguration.DATABASE) {
                @Override
                public String overrideContainerName() {
                    return "tenant-1";
                }
            };
            inTenant(factory);
            Expect.equal(client.getDatabase(SpringConfiguration.DATABASE).getContainer("tenant-1").read().block().getStatusCode(), 200);
        });
        sync.works("containers", "a database of a tenant's own, chosen by the CosmosFactory", () -> {
            inTenant(new CosmosFactory(client, SpringConfiguration.DATABASE + "-tenant"));
            Expect.equal(client.getDatabase(SpringConfiguration.DATABASE + "-tenant").delete().block().getStatusCode(), 204);
        });
    }

    private void inTenant(CosmosFactory factory) {
        CosmosTemplate own = new CosmosTemplate(factory, CosmosConfig.builder().build(), converter);
        own.createContainerIfNotExists(new CosmosEntityInformation<>(Parcel.class));
        own.insert(parcel(500), key(500));
        Expect.equal(weights(own.findAll(Parcel.class)), List.of(500L));
        Expect.equal(own.count(own.getContainerName(Parcel.class)), 1L);
        Expect.equal(template.count(PARCELS), (long) COUNT);
    }

    private void deletions() {
        sync.works("entities", "delete by criteria, deleteEntity, deleteAll", () -> {
            CosmosQuery query = new CosmosQuery(is("sender", "s1", Part.IgnoreCaseType.NEVER));
            Expect.equal(list(template.delete(query, Parcel.class, PARCELS)).size(), 10);
            template.deleteEntity(PARCELS, parcel(0));
            Expect.equal(template.count(PARCELS), COUNT - 11L);
            template.deleteAll(PARCELS, Parcel.class);
            Expect.equal(template.count(PARCELS), 0L);
        });
        sync.works("containers", "deleteContainer", () -> {
            template.deleteContainer(PARCELS);
            Expect.error(RuntimeException.class, () -> template.getContainerProperties(PARCELS));
        });
    }

    private CosmosAsyncContainer container() {
        return client.getDatabase(SpringConfiguration.DATABASE).getContainer(PARCELS);
    }

    private static Parcel parcel(int n) {
        return new Parcel("p " + n + " ü+%", "c" + n % 10, "s" + n % 3, n);
    }

    private static PartitionKey key(int n) {
        return new PartitionKey("c" + n % 10);
    }

    private static Criteria is(String name, Object value, Part.IgnoreCaseType ignoresCase) {
        return Criteria.getInstance(CriteriaType.IS_EQUAL, name, List.of(value), ignoresCase);
    }

    private static List<String> paths(IndexingPolicy policy) {
        List<String> paths = new ArrayList<>(policy.getIncludedPaths().stream().map(IncludedPath::getPath).toList());
        policy.getExcludedPaths().stream().map(ExcludedPath::getPath).map("not "::concat).forEach(paths::add);
        return paths;
    }

    private static <T> List<T> list(Iterable<T> found) {
        return StreamSupport.stream(found.spliterator(), false).toList();
    }

    private static List<Long> weights(Iterable<Parcel> found) {
        return list(found).stream().map(Parcel::getWeight).toList();
    }
}
