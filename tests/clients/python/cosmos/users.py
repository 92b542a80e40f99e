"""Users, permissions, resource tokens, conflicts."""
from azure.cosmos import documents, exceptions

from cosmos.client import every, settle
from record import raises

HttpError = exceptions.CosmosHttpResponseError


async def run(context):
    works, database = context.record.works, context.database
    container = await context.container()
    await settle(container.create_item({"id": "1", "pk": "a"}))
    properties = await settle(container.read())
    with works("users", "create_user"):
        user = await settle(database.create_user({"id": "ann"}))
        assert (await settle(user.read()))["id"] == "ann"
    with works("users", "upsert_user"):
        await settle(database.upsert_user({"id": "ben"}))
    with works("users", "list_users"):
        assert sorted(one["id"] for one in await every(database.list_users())) == ["ann", "ben"]
    with works("users", "query_users"):
        found = await every(database.query_users("SELECT * FROM r WHERE r.id = 'ann'"))
        assert [one["id"] for one in found] == ["ann"]
    with works("users", "replace_user"):
        await settle(database.replace_user("ben", {"id": "bob"}))
        assert sorted(one["id"] for one in await every(database.list_users())) == ["ann", "bob"]
    with works("users", "delete_user"):
        await settle(database.delete_user("bob"))
        assert [one["id"] for one in await every(database.list_users())] == ["ann"]
    definition = {"id": "read", "permissionMode": documents.PermissionMode.Read, "resource": properties["_self"]}
    with works("permissions", "create_permission"):
        permission = await settle(user.create_permission(definition))
        assert permission.id == "read" and permission.properties["_token"]
    with works("permissions", "get_permission"):
        assert (await settle(user.get_permission("read"))).permission_mode.lower() == "read"
    with works("permissions", "list_permissions, query_permissions"):
        assert [one["id"] for one in await every(user.list_permissions())] == ["read"]
        assert [one["id"] for one in await every(user.query_permissions("SELECT * FROM r"))] == ["read"]
    with works("permissions", "upsert_permission, replace_permission"):
        await settle(user.upsert_permission({**definition, "id": "all", "permissionMode": "All"}))
        replaced = await settle(user.replace_permission("all", {**definition, "id": "all", "permissionMode": "All"}))
        assert replaced.permission_mode.lower() == "all"
    token = permission.properties["_token"]
    with works("permissions", "client with resource tokens"):
        async with context.client_of({container.container_link: token}) as limited:
            same = limited.get_database_client(database.id).get_container_client(container.id)
            assert (await settle(same.read_item("1", "a")))["id"] == "1"
            assert len(await context.query(same, "SELECT * FROM c", partition_key="a")) == 1
            with raises(HttpError, status_code=403):
                await settle(same.create_item({"id": "2", "pk": "a"}))
    with works("permissions", "delete_permission"):
        await settle(user.delete_permission("all"))
        assert [one["id"] for one in await every(user.list_permissions())] == ["read"]
    with works("conflicts", "list_conflicts, query_conflicts"):
        assert await every(container.list_conflicts()) == []
        scope = {} if context.is_async else {"enable_cross_partition_query": True}
        assert await every(container.query_conflicts("SELECT * FROM c", **scope)) == []
