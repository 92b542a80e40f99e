package cosmos;

import static cosmos.Json.item;
import static cosmos.Json.key;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosScripts;
import com.azure.cosmos.models.CosmosItemRequestOptions;
import com.azure.cosmos.models.CosmosQueryRequestOptions;
import com.azure.cosmos.models.CosmosStoredProcedureProperties;
import com.azure.cosmos.models.CosmosStoredProcedureRequestOptions;
import com.azure.cosmos.models.CosmosStoredProcedureResponse;
import com.azure.cosmos.models.CosmosTriggerProperties;
import com.azure.cosmos.models.CosmosUserDefinedFunctionProperties;
import com.azure.cosmos.models.TriggerOperation;
import com.azure.cosmos.models.TriggerType;
import java.util.List;
import support.Expect;
import support.Recorder;

/** Stored procedures, triggers and user-defined functions. */
final class Scripts {
    private static final String PROCEDURE = """
            function (first, second) {
              console.log("called");
              getContext().getCollection().createDocument(getContext().getCollection().getSelfLink(),
                { id: first, pk: "x", n: second }, (error, created) => {
                  if (error) throw error;
                  getContext().getResponse().setBody({ created: created.id, sum: second + 1 });
                });
            }""";
    private static final String TRIGGER = """
            function () {
              const request = getContext().getRequest();
              const item = request.getBody();
              item.stamped = true;
              request.setBody(item);
            }""";

    private final Recorder recorder;
    private final CosmosContainer container;
    private final CosmosScripts scripts;

    Scripts(Recorder recorder, Suite suite) {
        this.recorder = recorder;
        container = suite.sync(suite.newContainer());
        scripts = container.getScripts();
    }

    void run() {
        recorder.works("scripts", "createStoredProcedure, execute", () -> {
            Expect.equal(scripts.createStoredProcedure(new CosmosStoredProcedureProperties("pay", PROCEDURE)).getStatusCode(), 201);
            CosmosStoredProcedureRequestOptions options = new CosmosStoredProcedureRequestOptions().setPartitionKey(key("x"))
                    .setScriptLoggingEnabled(true);
            CosmosStoredProcedureResponse response = scripts.getStoredProcedure("pay").execute(List.of("made", 2), options);
            Expect.equal(Json.parse(response.getResponseAsString()), Json.parse("{'created':'made','sum':3}"));
            Expect.isTrue(response.getScriptLog().contains("called"), "no log: " + response.getScriptLog());
            Expect.equal(Calls.of(container).read("made", "x").get("n").asInt(), 2);
            Suite.error(400, () -> scripts.getStoredProcedure("pay").execute(List.of("made", 2), options));
        });
        recorder.works("scripts", "stored procedures: read, list, query, replace, delete", () -> {
            CosmosStoredProcedureProperties properties = scripts.getStoredProcedure("pay").read().getProperties();
            scripts.getStoredProcedure("pay").replace(properties.setBody("function () { getContext().getResponse().setBody(7); }"));
            Expect.equal(scripts.getStoredProcedure("pay").execute(List.of(),
                    new CosmosStoredProcedureRequestOptions().setPartitionKey(key("x"))).getResponseAsString(), "7");
            Expect.equal(scripts.readAllStoredProcedures().stream().count(), 1L);
            Expect.equal(scripts.queryStoredProcedures("SELECT * FROM s WHERE s.id = 'pay'", new CosmosQueryRequestOptions())
                    .stream().count(), 1L);
            Expect.equal(scripts.getStoredProcedure("pay").delete().getStatusCode(), 204);
            Suite.error(404, () -> scripts.getStoredProcedure("pay").read());
        });
        recorder.works("scripts", "triggers", () -> {
            scripts.createTrigger(new CosmosTriggerProperties("stamp", TRIGGER).setTriggerType(TriggerType.PRE)
                    .setTriggerOperation(TriggerOperation.ALL));
            CosmosItemRequestOptions options = new CosmosItemRequestOptions().setPreTriggerInclude(List.of("stamp"));
            Expect.isTrue(container.createItem(item("t", "x"), options).getItem().get("stamped").asBoolean(), "not stamped");
            CosmosTriggerProperties properties = scripts.getTrigger("stamp").read().getProperties();
            Expect.equal(properties.getTriggerType(), TriggerType.PRE);
            scripts.getTrigger("stamp").replace(properties.setTriggerOperation(TriggerOperation.REPLACE));
            Expect.equal(scripts.readAllTriggers().stream().count(), 1L);
            Expect.equal(scripts.queryTriggers("SELECT * FROM t", new CosmosQueryRequestOptions()).stream().count(), 1L);
            scripts.getTrigger("stamp").delete();
            Suite.error(404, () -> scripts.getTrigger("stamp").read());
        });
        recorder.works("scripts", "user-defined functions", () -> {
            scripts.createUserDefinedFunction(new CosmosUserDefinedFunctionProperties("twice", "function (n) { return 2 * n; }"));
            Expect.equal(Calls.of(container).query("SELECT VALUE udf.twice(c.n) FROM c WHERE c.id = 'made'").get(0).asInt(), 4);
            CosmosUserDefinedFunctionProperties properties = scripts.getUserDefinedFunction("twice").read().getProperties();
            scripts.getUserDefinedFunction("twice").replace(properties.setBody("function (n) { return 3 * n; }"));
            Expect.equal(Calls.of(container).query("SELECT VALUE udf.twice(c.n) FROM c WHERE c.id = 'made'").get(0).asInt(), 6);
            Expect.equal(scripts.readAllUserDefinedFunctions().stream().count(), 1L);
            Expect.equal(scripts.queryUserDefinedFunctions("SELECT * FROM f", new CosmosQueryRequestOptions()).stream().count(), 1L);
            scripts.getUserDefinedFunction("twice").delete();
        });
    }
}
