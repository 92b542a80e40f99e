package spring;

import com.azure.spring.data.cosmos.core.mapping.CompositeIndex;
import com.azure.spring.data.cosmos.core.mapping.CompositeIndexPath;
import com.azure.spring.data.cosmos.core.mapping.Container;
import com.azure.spring.data.cosmos.core.mapping.CosmosIndexingPolicy;
import com.azure.spring.data.cosmos.core.mapping.CosmosUniqueKey;
import com.azure.spring.data.cosmos.core.mapping.CosmosUniqueKeyPolicy;
import com.azure.spring.data.cosmos.core.mapping.GeneratedValue;
import org.springframework.data.annotation.Id;

/** An entity whose id is generated, in a container with an indexing policy, unique keys and a hierarchical key. */
@Container(containerName = "numbered", hierarchicalPartitionKeyPaths = {"/tenant", "/user"}, timeToLive = 3600)
@CosmosIndexingPolicy(includePaths = "/*", excludePaths = "/big/*", compositeIndexes = @CompositeIndex(paths = {
    @CompositeIndexPath(path = "/tenant"), @CompositeIndexPath(path = "/n")}))
@CosmosUniqueKeyPolicy(uniqueKeys = @CosmosUniqueKey(paths = "/n"))
public class Numbered {
    @Id
    @GeneratedValue
    private String id;
    private String tenant;
    private String user;
    private int n;

    public Numbered() {}

    public Numbered(String tenant, String user, int n) {
        this.tenant = tenant;
        this.user = user;
        this.n = n;
    }

    public String getId() {
        return id;
    }

    public void setId(String id) {
        this.id = id;
    }

    public String getTenant() {
        return tenant;
    }

    public void setTenant(String tenant) {
        this.tenant = tenant;
    }

    public String getUser() {
        return user;
    }

    public void setUser(String user) {
        this.user = user;
    }

    public int getN() {
        return n;
    }

    public void setN(int n) {
        this.n = n;
    }
}
