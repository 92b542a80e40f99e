"""Stored procedures, triggers, user-defined functions."""
from azure.cosmos import documents, exceptions

from cosmos.client import every, settle
from record import raises

MISSING = exceptions.CosmosResourceNotFoundError
DOUBLE = "function (name, n) { getContext().getResponse().setBody({name: name, twice: 2 * n}); }"
WRITE = """function (doc) {
  var collection = getContext().getCollection();
  if (!collection.createDocument(collection.getSelfLink(), doc, function (error, made) {
    if (error) throw error;
    getContext().getResponse().setBody(made.id);
  })) throw new Error('not accepted');
}"""
STAMP = """function () {
  var request = getContext().getRequest(), item = request.getBody();
  item.stamped = true;
  request.setBody(item);
}"""


async def run(context):
    container = await context.container()
    scripts = container.scripts
    await lifecycle(context, scripts, "stored_procedure", "stored_procedures", {"id": "double", "body": DOUBLE})
    await lifecycle(context, scripts, "trigger", "triggers",
                    {"id": "stamp", "body": STAMP, "triggerType": documents.TriggerType.Pre,
                     "triggerOperation": documents.TriggerOperation.All})
    await lifecycle(context, scripts, "user_defined_function", "user_defined_functions",
                    {"id": "twice", "body": "function (n) { return 2 * n; }"})
    works = context.record.works
    with works("scripts", "execute_stored_procedure"):
        await settle(scripts.create_stored_procedure({"id": "double", "body": DOUBLE}))
        values = "parameters" if context.is_async else "params"
        result = await settle(scripts.execute_stored_procedure("double", partition_key="a", **{values: ["ann", 21]}))
        assert result == {"name": "ann", "twice": 42}, result
        await settle(scripts.create_stored_procedure({"id": "write", "body": WRITE}))
        made = await settle(scripts.execute_stored_procedure("write", partition_key="a",
                                                             **{values: [{"id": "1", "pk": "a"}]}))
        assert made == "1" and (await settle(container.read_item("1", "a")))["id"] == "1"
    with works("scripts", "execute_stored_procedure, enable_script_logging"):
        await settle(scripts.create_stored_procedure({"id": "log", "body": "function () { console.log('a line'); }"}))
        await settle(scripts.execute_stored_procedure("log", partition_key="a", enable_script_logging=True))
        assert "a%20line" in container.client_connection.last_response_headers["x-ms-documentdb-script-log-results"]
    with works("scripts", "pre_trigger_include"):
        await settle(scripts.create_trigger({"id": "stamp", "body": STAMP, "triggerType": documents.TriggerType.Pre,
                                             "triggerOperation": documents.TriggerOperation.Create}))
        made = await settle(container.create_item({"id": "2", "pk": "a"}, pre_trigger_include="stamp"))
        assert made["stamped"] is True
        assert "stamped" not in await settle(container.create_item({"id": "3", "pk": "a"}))


async def lifecycle(context, scripts, one, several, definition):
    works = context.record.works
    with works("scripts", f"create_{one}"):
        made = await settle(getattr(scripts, f"create_{one}")(definition))
        assert {name: made[name] for name in definition} == definition, made
    with works("scripts", f"get_{one}"):
        assert (await settle(getattr(scripts, f"get_{one}")(made["id"])))["body"] == definition["body"]
    with works("scripts", f"list_{several}"):
        assert [found["id"] for found in await every(getattr(scripts, f"list_{several}")())] == [made["id"]]
    with works("scripts", f"query_{several}"):
        query = "SELECT * FROM root r WHERE r.id = @id"
        found = await every(getattr(scripts, f"query_{several}")(
            query, parameters=[{"name": "@id", "value": made["id"]}]))
        assert [item["id"] for item in found] == [made["id"]]
    with works("scripts", f"replace_{one}"):
        changed = {**definition, "body": definition["body"] + " // changed"}
        replaced = await settle(getattr(scripts, f"replace_{one}")(made, changed))
        assert replaced["body"] == changed["body"]
    with works("scripts", f"delete_{one}"):
        await settle(getattr(scripts, f"delete_{one}")(made["id"]))
        with raises(MISSING, status_code=404):
            await settle(getattr(scripts, f"get_{one}")(made["id"]))
