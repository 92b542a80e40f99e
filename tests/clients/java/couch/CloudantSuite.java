package couch;

import com.ibm.cloud.cloudant.v1.Cloudant;
import com.ibm.cloud.sdk.core.security.Authenticator;
import com.ibm.cloud.sdk.core.security.BasicAuthenticator;
import com.ibm.cloud.cloudant.security.CouchDbSessionAuthenticator;
import support.Environment;
import support.Recorder;

/** IBM's client for Cloudant and CouchDB, with a password and with a session. */
public final class CloudantSuite {
    private CloudantSuite() {}

    public static void main(String[] arguments) {
        Recorder recorder = new Recorder("com.ibm.cloud", "cloudant", "couch", "session");
        String user = Environment.get(Environment.USER);
        String password = Environment.get(Environment.PASSWORD);
        run(recorder, CouchDbSessionAuthenticator.newAuthenticator(user, password));
        run(recorder.in("password"), new BasicAuthenticator.Builder().username(user).password(password).build());
        Recorder.exit();
    }

    private static void run(Recorder recorder, Authenticator authenticator) {
        Cloudant service = new Cloudant("octavo", authenticator);
        service.setServiceUrl(Environment.get(Environment.COUCH_URL));
        new CloudantDocuments(recorder, service).run();
        new CloudantQueries(recorder, service).run();
        new CloudantServer(recorder, service).run();
    }
}
