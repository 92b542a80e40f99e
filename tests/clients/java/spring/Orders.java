package spring;

import com.azure.spring.data.cosmos.repository.CosmosRepository;
import com.azure.spring.data.cosmos.repository.Query;
import com.fasterxml.jackson.databind.JsonNode;
import java.util.Collection;
import java.util.List;
import org.springframework.data.domain.Page;
import org.springframework.data.domain.Pageable;
import org.springframework.data.domain.Slice;
import org.springframework.data.domain.Sort;
import org.springframework.data.repository.query.Param;

/** Queries that Spring Data derives from names, and annotated ones. */
public interface Orders extends CosmosRepository<Order, String> {
    List<Order> findByCustomer(String customer);

    List<Order> findByStateAndTotalGreaterThan(String state, double total);

    List<Order> findByStateOrTotalLessThanEqual(String state, double total);

    List<Order> findByTotalBetween(double least, double most);

    List<Order> findByCustomerIn(Collection<String> customers);

    List<Order> findByStateStartsWithIgnoreCase(String start);

    List<Order> findByStateContaining(String part);

    List<Order> findByStateIsNull();

    List<Order> findByStateNot(String state);

    List<Order> findTop3ByCustomer(String customer, Sort sort);

    List<Order> findByState(String state, Sort sort);

    Page<Order> findByState(String state, Pageable pageable);

    long countByState(String state);

    boolean existsByCustomerAndState(String customer, String state);

    void deleteByState(String state);

    @Query("SELECT * FROM c WHERE c.customer = @customer AND c.total >= @least ORDER BY c.total")
    List<Order> expensive(@Param("customer") String customer, @Param("least") double least);

    @Query("SELECT * FROM c WHERE ARRAY_CONTAINS(c.tags, @tag)")
    List<Order> tagged(@Param("tag") String tag);

    @Query("SELECT * FROM c WHERE c.state IN (@states)")
    Slice<Order> inStates(@Param("states") List<String> states, Pageable pageable);

    @Query("SELECT VALUE COUNT(1) FROM c WHERE c.state = @state")
    long countThose(@Param("state") String state);

    @Query("SELECT c.customer, COUNT(1) AS orders FROM c GROUP BY c.customer")
    List<JsonNode> ordersOfCustomers();
}
