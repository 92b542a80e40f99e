package couch;

import com.ibm.cloud.cloudant.v1.Cloudant;
import com.ibm.cloud.cloudant.v1.model.*;
import java.util.List;
import java.util.UUID;
import support.Environment;
import support.Expect;
import support.Recorder;

/** Calls that concern the server, and rights. */
final class CloudantServer {
    private final Recorder recorder;
    private final Cloudant service;
    private final String db = "server-" + UUID.randomUUID();

    CloudantServer(Recorder recorder, Cloudant service) {
        this.recorder = recorder;
        this.service = service;
    }

    void run() {
        recorder.works("server", "getServerInformation, getUuids, getUpInformation, getMembershipInformation, getActiveTasks", () -> {
            Expect.equal(service.getServerInformation().execute().getResult().getCouchdb(), "Welcome");
            Expect.equal(service.getUuids(new GetUuidsOptions.Builder().count(3).build()).execute().getResult().getUuids().size(), 3);
            Expect.equal(service.getUpInformation().execute().getResult().getStatus(), "ok");
            Expect.isTrue(!service.getMembershipInformation().execute().getResult().getAllNodes().isEmpty(), "no node");
            service.getActiveTasks().execute();
            service.headUpInformation().execute();
        });
        recorder.works("server", "getSessionInformation", () -> Expect.equal(
                service.getSessionInformation().execute().getResult().getUserCtx().name(), Environment.get(Environment.USER)));
        recorder.works("server", "getSecurity, putSecurity, getShardsInformation", () -> {
            service.putDatabase(new PutDatabaseOptions.Builder(db).build()).execute();
            service.putSecurity(new PutSecurityOptions.Builder(db).members(new SecurityObject.Builder().names(List.of("ann"))
                    .roles(List.of()).build()).build()).execute();
            Expect.equal(service.getSecurity(new GetSecurityOptions.Builder(db).build()).execute().getResult().members()
                    .names(), List.of("ann"));
            service.getShardsInformation(new GetShardsInformationOptions.Builder(db).build()).execute();
        });
        recorder.notOffered("server", "postReplicator", "replication by the server is refused (501)", () ->
                CloudantDocuments.error(501, () -> {
                    ReplicationDocument document = new ReplicationDocument.Builder()
                            .source(new ReplicationDatabase.Builder("http://127.0.0.1/a").build())
                            .target(new ReplicationDatabase.Builder("http://127.0.0.1/b").build()).build();
                    service.postReplicator(new PostReplicatorOptions.Builder(document).build()).execute();
                }));
    }
}
