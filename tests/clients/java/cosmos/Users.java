package cosmos;

import static cosmos.Json.item;
import static cosmos.Json.key;

import com.azure.cosmos.CosmosAsyncClient;
import com.azure.cosmos.CosmosAsyncUser;
import com.azure.cosmos.CosmosClient;
import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosDatabase;
import com.azure.cosmos.models.CosmosItemRequestOptions;
import com.azure.cosmos.models.CosmosPermissionProperties;
import com.azure.cosmos.models.CosmosUserProperties;
import com.azure.cosmos.models.ModelBridgeInternal;
import com.azure.cosmos.models.PermissionMode;
import java.util.List;
import support.Expect;
import support.Recorder;

/** Users, permissions, and clients that have only a resource token. */
final class Users {
    private final Recorder recorder;
    private final CosmosDatabase database;
    private final CosmosContainer container;
    private final CosmosAsyncUser asyncUser;
    private final CosmosAsyncClient asyncClient;

    Users(Recorder recorder, Suite suite) {
        this.recorder = recorder;
        database = suite.client.getDatabase(suite.database.getId());
        container = suite.sync(suite.newContainer());
        asyncUser = suite.database.getUser("ann");
        asyncClient = suite.asyncClient;
    }

    void run() {
        recorder.works("users", "createUser, upsertUser, read, list, query, replace, delete", () -> {
            Expect.equal(database.createUser(new CosmosUserProperties().setId("ann")).getStatusCode(), 201);
            database.upsertUser(new CosmosUserProperties().setId("bob"));
            Expect.equal(database.getUser("ann").read().getProperties().getId(), "ann");
            Expect.equal(database.readAllUsers().stream().count(), 2L);
            Expect.equal(database.queryUsers("SELECT * FROM u WHERE u.id = 'bob'").stream().count(), 1L);
            database.getUser("bob").replace(database.getUser("bob").read().getProperties().setId("rob"));
            database.getUser("rob").delete();
            Suite.error(404, () -> database.getUser("rob").read());
        });
        recorder.in("async").works("users", "permissions: create, upsert, read, list, query, delete", () -> {
            asyncUser.createPermission(permission("read", PermissionMode.READ), null).block();
            asyncUser.upsertPermission(permission("all", PermissionMode.ALL), null).block();
            Expect.equal(asyncUser.getPermission("read").read(null).block().getProperties().getPermissionMode(), PermissionMode.READ);
            Expect.equal(asyncUser.readAllPermissions().collectList().block().size(), 2);
            Expect.equal(asyncUser.queryPermissions("SELECT * FROM p WHERE p.id = 'all'").collectList().block().size(), 1);
            asyncUser.upsertPermission(permission("gone", PermissionMode.ALL), null).block();
            asyncUser.getPermission("gone").delete(null).block();
        });
        recorder.works("users", "resourceToken(…), one that may only read", () -> {
            container.createItem(item("seen", "x"));
            String token = asyncUser.getPermission("read").read(null).block().getProperties().getToken();
            try (CosmosClient client = Suite.builderWithoutKey().resourceToken(token).buildClient()) {
                CosmosContainer limited = client.getDatabase(database.getId()).getContainer(container.getId());
                Expect.equal(Calls.of(limited).read("seen", "x").get("id").asText(), "seen");
                Expect.equal(Calls.of(limited).query("SELECT * FROM c").size(), 1);
                Suite.error(403, () -> limited.createItem(item("refused", "x")));
            }
        });
        recorder.notOffered("users", "permissions(…)", "with Azure as here, the client asks for partition key ranges by resource "
                + "ids, and finds no token for them among permissions that name their containers, which its own tests leave out; "
                + "resourceToken(…) works, and so does a permission by resource ids beside the others", () -> {
                    List<CosmosPermissionProperties> permissions = asyncUser.readAllPermissions().collectList().block();
                    try (CosmosClient client = Suite.builderWithoutKey().permissions(permissions).buildClient()) {
                        CosmosContainer limited = client.getDatabase(database.getId()).getContainer(container.getId());
                        Suite.error(401, () -> limited.createItem(item("written", "x"), key("x"), new CosmosItemRequestOptions()));
                    }
                });
        recorder.works("users", "permissions(…), of which one has resource ids", () -> {
            // The client asks for the partition key ranges by these, and looks for a token for them.
            String databaseId = database.read().getProperties().getResourceId();
            String userId = ModelBridgeInternal.getResource(database.getUser("ann").read().getProperties()).getResourceId();
            asyncClient.getDatabase(databaseId).getUser(userId).createPermission(new CosmosPermissionProperties().setId("ids")
                    .setPermissionMode(PermissionMode.ALL).setContainerName(container.read().getProperties().getResourceId()), null).block();
            List<CosmosPermissionProperties> permissions = List.of(asyncUser.getPermission("all").read(null).block().getProperties(),
                    asyncUser.getPermission("ids").read(null).block().getProperties());
            try (CosmosClient client = Suite.builderWithoutKey().permissions(permissions).buildClient()) {
                CosmosContainer limited = client.getDatabase(database.getId()).getContainer(container.getId());
                limited.createItem(item("by ids", "x"), key("x"), new CosmosItemRequestOptions());
                Expect.equal(Calls.of(limited).read("by ids", "x").get("id").asText(), "by ids");
                Expect.equal(Calls.of(limited).query("SELECT * FROM c WHERE c.id = 'by ids'").size(), 1);
            }
            asyncUser.getPermission("ids").delete(null).block();
        });
        recorder.works("users", "resourceToken(…), one that may write", () -> {
            String token = asyncUser.getPermission("all").read(null).block().getProperties().getToken();
            try (CosmosClient client = Suite.builderWithoutKey().resourceToken(token).buildClient()) {
                CosmosContainer limited = client.getDatabase(database.getId()).getContainer(container.getId());
                limited.createItem(item("written", "x"), key("x"), new CosmosItemRequestOptions());
                Expect.equal(Calls.of(limited).read("written", "x").get("id").asText(), "written");
            }
        });
    }

    private CosmosPermissionProperties permission(String id, PermissionMode mode) {
        return new CosmosPermissionProperties().setId(id).setPermissionMode(mode).setContainerName(container.getId());
    }
}
