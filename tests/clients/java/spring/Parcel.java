package spring;

import com.azure.spring.data.cosmos.core.mapping.CompositeIndex;
import com.azure.spring.data.cosmos.core.mapping.CompositeIndexPath;
import com.azure.spring.data.cosmos.core.mapping.Container;
import com.azure.spring.data.cosmos.core.mapping.CosmosIndexingPolicy;
import java.time.OffsetDateTime;
import org.springframework.data.annotation.Id;
import org.springframework.data.annotation.LastModifiedBy;
import org.springframework.data.annotation.LastModifiedDate;

/** An entity with a nested partition key and a history of changes, in a container with automatic throughput. */
@Container(containerName = "parcels", partitionKeyPath = "/address/city", ru = "4000", autoScale = true, timeToLive = 7200)
@CosmosIndexingPolicy(includePaths = "/weight/?", excludePaths = "/*", compositeIndexes = @CompositeIndex(paths = {
    @CompositeIndexPath(path = "/sender"), @CompositeIndexPath(path = "/weight")}))
public class Parcel {
    /** Where a parcel goes. */
    public static class Address {
        private String city;
        private String street;

        public Address() {}

        public Address(String city, String street) {
            this.city = city;
            this.street = street;
        }

        public String getCity() {
            return city;
        }

        public void setCity(String city) {
            this.city = city;
        }

        public String getStreet() {
            return street;
        }

        public void setStreet(String street) {
            this.street = street;
        }
    }

    @Id
    private String id;
    private Address address;
    private String sender;
    private long weight;
    @LastModifiedBy
    private String changedBy;
    @LastModifiedDate
    private OffsetDateTime changed;

    public Parcel() {}

    public Parcel(String id, String city, String sender, long weight) {
        this.id = id;
        this.address = new Address(city, "Main Street");
        this.sender = sender;
        this.weight = weight;
    }

    public String getId() {
        return id;
    }

    public void setId(String id) {
        this.id = id;
    }

    public Address getAddress() {
        return address;
    }

    public void setAddress(Address address) {
        this.address = address;
    }

    public String getSender() {
        return sender;
    }

    public void setSender(String sender) {
        this.sender = sender;
    }

    public long getWeight() {
        return weight;
    }

    public void setWeight(long weight) {
        this.weight = weight;
    }

    public String getChangedBy() {
        return changedBy;
    }

    public void setChangedBy(String changedBy) {
        this.changedBy = changedBy;
    }

    public OffsetDateTime getChanged() {
        return changed;
    }

    public void setChanged(OffsetDateTime changed) {
        this.changed = changed;
    }
}
