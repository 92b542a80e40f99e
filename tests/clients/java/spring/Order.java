package spring;

import com.azure.spring.data.cosmos.core.mapping.Container;
import com.azure.spring.data.cosmos.core.mapping.PartitionKey;
import java.util.List;
import org.springframework.data.annotation.Id;
import org.springframework.data.annotation.Version;

/** An entity with a partition key and a version, which is its ETag. */
@Container(containerName = "orders", ru = "20000")
public class Order {
    @Id
    private String id;
    @PartitionKey
    private String customer;
    private String state;
    private double total;
    private List<String> tags;
    @Version
    private String _etag;

    public Order() {}

    public Order(String id, String customer, String state, double total, List<String> tags) {
        this.id = id;
        this.customer = customer;
        this.state = state;
        this.total = total;
        this.tags = tags;
    }

    public String getId() {
        return id;
    }

    public void setId(String id) {
        this.id = id;
    }

    public String getCustomer() {
        return customer;
    }

    public void setCustomer(String customer) {
        this.customer = customer;
    }

    public String getState() {
        return state;
    }

    public void setState(String state) {
        this.state = state;
    }

    public double getTotal() {
        return total;
    }

    public void setTotal(double total) {
        this.total = total;
    }

    public List<String> getTags() {
        return tags;
    }

    public void setTags(List<String> tags) {
        this.tags = tags;
    }

    public String get_etag() {
        return _etag;
    }

    public void set_etag(String etag) {
        _etag = etag;
    }
}
